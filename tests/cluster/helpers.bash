# helpers.bash: what the tests and the demonstration share: acting as an ordinary user, looking at jobs and nodes, and
# bringing the cluster back to a clean state. Sourced inside a cluster.
# shellcheck shell=bash

# shellcheck source=tests/cluster/within.bash
source /mnt/source/tests/cluster/within.bash

# The most seconds that any client may take: a step daemon that crashes leaves srun waiting for ten minutes.
client_deadline=60

# Runs a command as an ordinary user.
as_user() {
    setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/mnt/work \
        timeout --kill-after=5 "$client_deadline" "$@"
}

# Succeeds when a command fails; a plain `!` cannot fail a test.
not() { ! "$@"; }

# One field of `scontrol show job|node NAME`: field job 7 JobState
field() {
    timeout 10 scontrol --oneliner show "$1" "$2" | grep -Eo "(^| )$3=[^ ]*" | head -n 1 | sed 's/^[^=]*=//'
}

# Why a node is out of service; empty when it is not.
reason_of() {
    timeout 10 scontrol show node "$1" | sed -n 's/^ *Reason=//p'
}

drained() { [[ $(field node "$1" State) == *DRAIN* ]]; }
nodes_in_service() { ! timeout 10 sinfo --noheader --format=%T | grep -Eq 'drain|down|inval|fail'; }
job_over() { [[ -z $(timeout 10 squeue --noheader --jobs "$1" --states=pending,running,completing,configuring 2>/dev/null) ]]; }
no_jobs() { [[ -z $(timeout 10 squeue --noheader) ]]; }

# The names of the nodes, one a line.
nodes() {
    local i
    for ((i = 0; i < CLUSTER_NODES; i++)); do echo "n$i"; done
}

agent_runs() { [[ -d /proc/$(<"/mnt/nodes/$1/agent.pid") ]]; }

# The agent of a node as it tells about itself; with a jq filter, that part of it.
agent_status() {
    node-exec "$1" /mnt/build/bin/amd-gpu-agent --config "/mnt/etc/amd-gpu/$1.toml" status --json | jq --raw-output "${2:-.}"
}

# Process ids of programs of this name on a node: by the mount namespace, which they share.
processes_on() {
    local namespace pid
    namespace=$(readlink "/proc/$(<"/mnt/nodes/$1/pid")/ns/mnt")
    for pid in $(pgrep --full "$2"); do
        [[ $(readlink "/proc/$pid/ns/mnt") == "$namespace" ]] && echo "$pid"
    done
    return 0
}

# No jobs, no faults, every daemon up, every node in service.
clean_cluster() {
    local node user
    for user in root nobody; do timeout 10 scancel --user="$user" || true; done
    within 20 no_jobs
    for node in $(nodes); do
        [[ ! -s /mnt/nodes/$node/faults ]] || set-faults "$node" </dev/null
        agent_runs "$node" || start-agent "$node"
        not drained "$node" || timeout 10 scontrol update nodename="$node" state=resume
    done
    within 20 cluster-idle
    rm -rf /mnt/work/*
}
