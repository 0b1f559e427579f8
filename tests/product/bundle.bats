# Images on web servers: making their tree, signing it, and what a node believes of what a server says.

bats_require_minimum_version 1.5.0

setup() {
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    fakes=$BATS_TEST_DIRNAME/../fakes
    site=$(mktemp --directory /tmp/amd-gpu-bundle.XXXXXX)
    chmod 0755 "$site"
    mkdir -p "$site"/{environments.d,software/bin,served}
    echo 'echo hello' >"$site/software/bin/hello"
    chmod +x "$site/software/bin/hello"
    minisign -G -W -p "$site/public" -s "$site/secret" >/dev/null
    key=$(tail -n 1 "$site/public")
    tree=$site/served
    cat >"$site/amd-gpu.toml" <<TEXT
[agent]
state_directory = "$site/state"
[environment]
directory = "$site/environments.d"
[bundle]
connect_limit = 3
stall_limit = 2
TEXT
    children=()
}

teardown() {
    for child in "${children[@]}"; do
        kill "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    done
    rm -rf "$site"
}

agent() { timeout 60 "$agent" --config "$site/amd-gpu.toml" "$@"; }
add() { agent bundle add "$tree" hpl --from "$site/software" --key "${signer:-$site/secret}" "$@"; }

# serve [CERTIFICATE]: starts the server; its port is $port, its log $site/log.
serve() {
    rm -f "$site/port"
    "$fakes/http-server" "$tree" "$site/port" "$site/log" "$@" 3>&- &
    children+=($!)
    for _ in {1..400}; do
        [ -s "$site/port" ] && break
        sleep 0.05
    done
    port=$(<"$site/port")
}
# defined URL...: the environment, from these mirrors.
defined() {
    printf 'provider = "bundle"\n[bundle]\nkeys = ["%s"]\nurls = [' "$key" >"$site/environments.d/hpl.toml"
    printf '"%s", ' "$@" >>"$site/environments.d/hpl.toml"
    echo ']' >>"$site/environments.d/hpl.toml"
}
resolve() { agent resolve hpl --targets gfx90a --json; }
requests() { [ -e "$site/log" ] && wc -l <"$site/log" || echo 0; }
# The copy of the index is old, so that the server is asked again.
copy_is_old() { sed -i 's/"checked":[0-9]*/"checked":0/; s/"tried":[0-9]*/"tried":0/' "$site"/state/bundles/*.json; }
# index TEXT: an index with just this text, signed.
index() {
    printf '%s' "$1" >"$tree/index.json"
    minisign -S -s "$site/secret" -m "$tree/index.json"
}
# variants VERSION EXPIRES: an index of one variant.
variants() {
    index "{\"schema\": 1, \"version\": $1, \"expires\": $2, \"environments\": {\"hpl\": [{\"targets\": [\"gfx90a\"],
        \"blob\": {\"sha256\": \"$(printf '%064d' "$1")\", \"bytes\": 4096}}]}}"
}
next_year() { date --date='next year' +%s; }

@test "a directory becomes an image in a signed tree" {
    run -0 --separate-stderr add --targets gfx90a,gfx908 --edit 'set ROCM_PATH=${prefix}' --mount-point /opt/hpl
    hash=$(sed -n 's/^image sha256:\([0-9a-f]*\) .*/\1/p' <<<"$output")
    [ "$(sha256sum <"$tree/blobs/sha256/$hash" | cut -d' ' -f1)" = "$hash" ]
    [[ $output == *"key $key"* ]]
    minisign -V -p "$site/public" -m "$tree/index.json"
    jq --exit-status --arg hash "$hash" --argjson size "$(stat --format=%s "$tree/blobs/sha256/$hash")" '
        .schema == 1 and .version == 1 and (.environments.hpl | length == 1) and (.environments.hpl[0] |
        .targets == ["gfx908", "gfx90a"] and .blob == {sha256: $hash, bytes: $size} and .mount_point == "/opt/hpl" and
        .edits == ["set ROCM_PATH=${prefix}"])' "$tree/index.json"
    unsquashfs -lls "$tree/blobs/sha256/$hash" | grep -E '^-rwxr-xr-x root/root .*squashfs-root/bin/hello$'
    [ -z "$(find "$tree" -name '.making*')" ]
    # The same again is the same image; another target stands beside it.
    run -0 add --targets gfx90a,gfx908 --edit 'set ROCM_PATH=${prefix}' --mount-point /opt/hpl
    [[ $output == *"$hash"* ]]
    run -0 add --targets gfx942
    jq --exit-status '.version == 3 and (.environments.hpl | length == 2)' "$tree/index.json"
    minisign -V -p "$site/public" -m "$tree/index.json"
}

@test "what cannot be an image is refused before anything is made" {
    run -2 agent bundle add "$tree" ../x --targets gfx90a --from "$site/software" --key "$site/secret"
    run -2 add --targets nonsense
    run -2 add --targets gfx90a --mount-point /opt/../etc
    run -2 add --targets gfx90a --edit 'set LD_PRELOAD=/x'
    signer=$site/public run -2 add --targets gfx90a
    [[ $output == *'no secret key of minisign'* ]]
    run -2 agent bundle add "$tree" hpl --targets gfx90a --from "$site/public" --key "$site/secret"
    run ! agent bundle add "$tree" hpl --targets gfx90a --from "$site/nothing" --key "$site/secret"
    run ! agent bundle sign "$tree" --key "$site/secret"
    run ! add --targets gfx90a --mksquashfs /bin/false
    [ -z "$(find "$tree" -type f -not -name .lock)" ]
}

@test "a tree that somebody else signed is left alone" {
    add --targets gfx90a
    minisign -G -W -f -p "$site/other.pub" -s "$site/other" >/dev/null
    before=$(cat "$tree"/index.json*)
    signer=$site/other run -2 add --targets gfx942
    [[ $output == *'signed by a key that is not trusted'* ]]
    echo '{' >>"$tree/index.json"
    run -2 add --targets gfx942
    [[ $output == *'does not fit its content'* ]]
    sed -i '$ d' "$tree/index.json"
    [ "$(cat "$tree"/index.json*)" = "$before" ]
}

@test "a node finds the variant, and asks the server again only when its copy is old" {
    add --targets gfx90a
    serve
    defined "http://127.0.0.1:$port"
    resolve
    [ "$(requests)" -eq 2 ]
    resolve
    [ "$(requests)" -eq 2 ]
    copy_is_old
    resolve
    # Nothing new: the signature tells.
    [ "$(requests)" -eq 3 ]
    resolve
    [ "$(requests)" -eq 3 ]
    add --targets gfx942
    copy_is_old
    agent resolve hpl --targets gfx942
    [ "$(requests)" -eq 5 ]
}

@test "an index from the past is refused" {
    variants 7 "$(next_year)"
    serve
    defined "http://127.0.0.1:$port/tree" "http://127.0.0.1:$port"
    mkdir "$tree/tree"
    cp "$tree"/index.json* "$tree/tree"
    resolve
    variants 6 "$(next_year)"
    cp "$tree"/index.json* "$tree/tree"
    # The copy stays in use ...
    copy_is_old
    run -0 --separate-stderr resolve
    [ "$(requests)" -eq 6 ]
    # ... and without it there is none.
    rm "$site"/state/bundles/*.signed
    run -4 resolve
    [[ $output == *'has version 6, but version 7 was seen before'* ]]
    # A mirror that is up to date helps.
    variants 8 "$(next_year)"
    resolve
}

@test "an index that has expired is refused, also when it is the copy" {
    variants 1 "$(($(date +%s) - 1))"
    serve
    defined "http://127.0.0.1:$port"
    run -4 resolve
    [[ $output == *'expired on '*'its publisher must sign a new one'* ]]
    variants 2 "$(($(date +%s) + 4))"
    resolve
    kill "${children[0]}"
    copy_is_old
    resolve
    for _ in {1..100}; do
        (($(date +%s) > $(jq .expires "$tree/index.json"))) && break
        sleep 0.1
    done
    run -4 resolve
    [[ $output == *'the copy of the index of images cannot be used (expired on '* ]]
}

@test "an index whose signature is not right counts for nothing" {
    variants 1 "$(next_year)"
    serve
    defined "http://127.0.0.1:$port"
    good=$(<"$tree/index.json")
    printf '%s' "${good:0:100}" >"$tree/index.json"
    run -4 resolve
    [[ $output == *'its signature does not fit its content'* ]]
    printf '%s' "${good/4096/4097}" >"$tree/index.json"
    run -4 resolve
    [[ $output == *'its signature does not fit its content'* ]]
    minisign -G -W -f -p "$site/other.pub" -s "$site/other" >/dev/null
    minisign -S -s "$site/other" -m "$tree/index.json"
    run -4 resolve
    [[ $output == *'signed by a key that is not trusted here'* ]]
    echo nonsense >"$tree/index.json.minisig"
    run -4 resolve
    [[ $output == *"not in minisign's form"* ]]
    rm "$tree/index.json.minisig"
    run -4 resolve
    [[ $output == *'does not have it'* ]]
    head -c 5000 /dev/zero >"$tree/index.json.minisig"
    run -4 resolve
    [[ $output == *'has 5000 bytes instead of at most 4096'* ]]
    index '{"schema": 2, "version": 1}'
    run -4 resolve
    [[ $output == *'newer than this program'* ]]
    # The legacy form of a signature is one.
    printf '%s' "$good" >"$tree/index.json"
    minisign -S -l -s "$site/secret" -m "$tree/index.json"
    resolve
}

@test "the copy of the index is used while no server answers" {
    add --targets gfx90a
    serve
    defined "http://127.0.0.1:1" "http://127.0.0.1:$port"
    resolve
    kill "${children[0]}"
    wait "${children[0]}" || true
    copy_is_old
    resolve
    # A copy that somebody changed is none.
    echo >>"$(echo "$site"/state/bundles/*.signed)"
    run -4 resolve
    [[ $output == *'does not fit its content'*'there is no new one'*'http://127.0.0.1:1: '*"http://127.0.0.1:$port: "* ]]
}

@test "a server that is overrun and says when to come back is asked again until it answers" {
    add --targets gfx90a
    serve
    # Turned away more often than a server that just fails would be asked.
    defined "http://127.0.0.1:$port/status=503,after=1,times=2"
    run resolve
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' 503 ' "$site/log")" -eq 4 ] # twice each, signature and index
    # Nobody waits for it while another server answers, or past the time that there is.
    overrun=http://127.0.0.1:$port/status=503,after=600
    defined "$overrun" "http://127.0.0.1:$port"
    timeout 20 "$agent" --config "$site/amd-gpu.toml" resolve hpl --targets gfx90a
    rm -r "$site/state"
    defined "$overrun"
    run -4 timeout 20 "$agent" --config "$site/amd-gpu.toml" resolve hpl --targets gfx90a
    [[ $output == *"HTTP status 503"* ]]
}

@test "a user at the command line uses the copy of the node and leaves it alone" {
    ((EUID == 0)) || skip 'needs root'
    add --targets gfx90a
    serve
    defined "http://127.0.0.1:$port"
    resolve
    copy_is_old
    before=$(cat "$site"/state/bundles/*)
    setpriv --reuid nobody --regid nogroup --clear-groups timeout 60 "$agent" --config "$site/amd-gpu.toml" resolve hpl --targets gfx90a
    [ "$(cat "$site"/state/bundles/*)" = "$before" ]
}

# What the agent asks its child for: request URL [SHA256 BYTES [MORE]]
request() {
    printf '{"urls": ["%s"], "sha256": "%s", "bytes": %s, "tries": 1, "connect_ms": 3000, "stall_ms": 2000,
        "limit_ms": 20000%s}' "$1" "${2-}" "${3-100000}" "${4-}" >"$site/request"
}
download() { timeout 30 "$agent" download 3<"$site/request" 4<>"$1"; }

@test "a real web server gives its files by TLS to those who trust it" {
    command -v nginx >/dev/null || skip 'nginx is not installed'
    add --targets gfx90a
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca -keyout "$site/ca.key" \
        -out "$site/ca.pem" 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout "$site/tls.key" \
        -out "$site/tls.csr" 2>/dev/null
    openssl x509 -req -in "$site/tls.csr" -CA "$site/ca.pem" -CAkey "$site/ca.key" -CAcreateserial -days 2 \
        -extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1') -out "$site/tls.pem" 2>/dev/null
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$site/nginx.conf" <<TEXT
daemon off;
$( ((EUID == 0)) && echo 'user root;')
pid $site/nginx.pid;
error_log $site/nginx.error;
events {}
http {
    access_log $site/nginx.log;
    client_body_temp_path $site/body; proxy_temp_path $site/proxy; fastcgi_temp_path $site/fastcgi;
    uwsgi_temp_path $site/uwsgi; scgi_temp_path $site/scgi;
    server {
        listen 127.0.0.1:$port ssl;
        ssl_certificate $site/tls.pem;
        ssl_certificate_key $site/tls.key;
        root $tree;
    }
}
TEXT
    nginx -p "$site" -c "$site/nginx.conf" 3>&- 2>/dev/null &
    children+=($!)
    for _ in {1..200}; do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
        sleep 0.05
    done
    defined "https://localhost:$port"
    run -4 resolve
    [[ $output == *"https://localhost:$port: its certificate is not trusted: "* ]]
    echo "ca_file = \"$site/ca.pem\"" >>"$site/amd-gpu.toml"
    resolve
    # A name that the certificate does not hold is nobody we know.
    defined "https://127.0.0.2:$port" "https://localhost:$port"
    rm -r "$site/state"
    resolve

    # The image itself, and the rest of it.
    blob=$(echo "$tree"/blobs/sha256/*)
    hash=${blob##*/}
    request "https://localhost:$port/blobs/sha256/$hash" "$hash" "$(stat --format=%s "$blob")" ", \"ca_file\": \"$site/ca.pem\""
    download "$site/image"
    cmp "$blob" "$site/image"
    truncate --size=1000 "$site/image"
    download "$site/image"
    cmp "$blob" "$site/image"
    grep -F "GET /blobs/sha256/$hash HTTP/1.1\" 206" "$site/nginx.log"
    # From HTTPS nobody is led to where others listen.
    request "https://localhost:$port/blobs/sha256/$hash" "$hash" "$(stat --format=%s "$blob")"
    run -1 download "$site/other"
    [[ $output == *'certificate is not trusted'* ]]
    [ ! -s "$site/other" ]
}

# case: SCALE-3
@test "a full disk is told as such, and what came is kept" {
    ((EUID == 0)) || skip 'needs root'
    head -c 3000000 /dev/urandom >"$tree/x"
    serve
    request "http://127.0.0.1:$port/x" "$(sha256sum <"$tree/x" | cut -d' ' -f1)" 3000000
    mkdir "$site/small"
    run -1 unshare --mount bash -c 'mount -t tmpfs -o size=1m tmpfs "$2/small" && "$1" download 3<"$2/request" 4<>"$2/small/x"' \
        bash "$agent" "$site"
    [[ $output == *'"internal"'*'No space left on device'* ]]
    [ "$(requests)" -eq 1 ]
}

# case: SCALE-5
@test "a server that cannot be reached is told once, however often it is tried" {
    head -c 300000 /dev/urandom >"$tree/x"
    serve
    printf '{"urls": ["http://127.0.0.1:1/x", "http://127.0.0.1:%s/status=503,times=2/x"], "sha256": "%s", "bytes": 300000,
        "tries": 4, "connect_ms": 3000, "stall_ms": 2000, "limit_ms": 20000}' "$port" \
        "$(sha256sum <"$tree/x" | cut -d' ' -f1)" >"$site/request"
    run -0 download "$site/x"
    [ "$(grep -c '"say":"http://127.0.0.1:1: ' <<<"$output")" -eq 1 ]
    cmp "$tree/x" "$site/x"
}

@test "a request for a download that is none is refused" {
    for text in '' '{}' 'x' '{"urls": [], "bytes": 1, "tries": 1}' '{"urls": ["http://127.0.0.1:1/"], "bytes": 0, "tries": 1}'; do
        printf '%s' "$text" >"$site/request"
        run -1 download "$site/x"
        [[ $output == *'"no request for a download"'* ]]
    done
}
