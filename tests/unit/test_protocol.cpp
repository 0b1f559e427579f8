// The socket's messages: what goes in comes out, and nothing hostile gets through.
#include "ranges.hpp"
#include "service/exchange.hpp"
#include "service/protocol.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace amd_gpu;

namespace {

message decoded(const std::string& bytes) {
    unsigned char header[4];
    std::copy_n(bytes.begin(), 4, header);
    const auto length = decode_length(header);
    REQUIRE(length);
    REQUIRE(*length == bytes.size() - 4);
    const auto read = decode(std::string_view(bytes).substr(4));
    REQUIRE(read);
    return *read;
}

preparation_request full_request() {
    preparation_request request;
    request.job = 4711;
    request.step = batch_step;
    request.uid = 65534;
    request.restarts = 2;
    request.within_allocation = true;
    request.attach_only = true;
    request.render_minors = std::vector<uint32_t>{128, 129, 133};
    request.node = "node042";
    request.slurm_conf = "/etc/slurm/slurm.conf";
    request.gpus = std::vector<uint32_t>{0, 1, 2, 5};
    request.targets = {"gfx90a", "gfx942:xnack-"};
    request.environment = "demo";
    request.probe = "quick";
    request.mask = "rank";
    request.bind = "closest";
    request.verbose = true;
    request.limit_ms = 45000;
    request.only_with_gpus = true;
    request.by_hand = true;
    return request;
}

} // namespace

TEST_CASE("a message survives the way over the wire", "[protocol]") {
    message sent("prepare");
    sent.add("job", "17").add("text", "with = and spaces\nand lines").add("text", "").add("umlaut", "\xc3\xa9");
    const auto bytes = encode(sent);
    REQUIRE(bytes);
    CHECK(decoded(*bytes) == sent);
}

TEST_CASE("an empty message is a message", "[protocol]") {
    const auto bytes = encode(message());
    REQUIRE(bytes);
    CHECK(*bytes == std::string(4, '\0'));
    CHECK(decoded(*bytes).records().empty());
}

TEST_CASE("keys and values that the form cannot hold are refused", "[protocol]") {
    message bad;
    SECTION("an empty key") {
        bad.add("", "x");
    }
    SECTION("an equals sign in a key") {
        bad.add("a=b", "x");
    }
    SECTION("a NUL in a key") {
        bad.add(std::string_view("a\0b", 3), "x");
    }
    SECTION("a NUL in a value") {
        bad.add("a", std::string_view("x\0y", 3));
    }
    SECTION("more than the limit") {
        bad.add("a", std::string(message_limit, 'x'));
    }
    CHECK_FALSE(encode(bad));
}

TEST_CASE("a length beyond the limit is refused before anything is allocated", "[protocol]") {
    const unsigned char huge[4] = {0xff, 0xff, 0xff, 0xff};
    const auto length = decode_length(huge);
    REQUIRE_FALSE(length);
    CHECK(length.failure().code == error_code::peer);
    const auto accepted = [](uint32_t size) {
        const unsigned char header[4] = {static_cast<unsigned char>(size), static_cast<unsigned char>(size >> 8),
                                         static_cast<unsigned char>(size >> 16),
                                         static_cast<unsigned char>(size >> 24)};
        return static_cast<bool>(decode_length(header));
    };
    CHECK(accepted(message_limit));
    CHECK_FALSE(accepted(message_limit + 1));
}

TEST_CASE("bodies that are no records are refused", "[protocol]") {
    CHECK_FALSE(decode("kind=prepare"));
    CHECK_FALSE(decode(std::string_view("kind\0", 5)));
    CHECK_FALSE(decode(std::string_view("=x\0", 3)));
    CHECK_FALSE(decode(std::string_view("a=b\0\0", 5)));
}

TEST_CASE("random bytes are decoded or refused, and what is decoded encodes to the same bytes", "[protocol]") {
    std::mt19937 random(7);
    unsigned accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string body(random() % 40, '\0');
        for (auto& byte : body)
            byte = "a=b\0xy"[random() % 6];
        const auto read = decode(body);
        if (!read)
            continue;
        ++accepted;
        const auto bytes = encode(*read);
        REQUIRE(bytes);
        CHECK(bytes->substr(4) == body);
    }
    CHECK(accepted > 100);
}

TEST_CASE("a request says the same on both sides", "[exchange]") {
    const auto request = full_request();
    const auto read = to_request(decoded(*encode(to_message(request))));
    REQUIRE(read);
    CHECK(*read == request);
    preparation_request least;
    least.job = 1;
    const auto again = to_request(to_message(least));
    REQUIRE(again);
    CHECK(*again == least);
}

TEST_CASE("a job without GPUs is told apart from one with an empty list", "[exchange]") {
    preparation_request request;
    request.gpus = std::vector<uint32_t>{};
    CHECK(to_request(to_message(request))->gpus.has_value());
    request.gpus.reset();
    CHECK_FALSE(to_request(to_message(request))->gpus.has_value());
}

TEST_CASE("a reply says the same on both sides", "[exchange]") {
    preparation_reply reply;
    reply.how = outcome::node_fault;
    reply.message = "0000:c9:00.0 hbm_copy 695<1147 GB/s";
    reply.fail_prolog = true;
    reply.absent = true;
    reply.node = "node042";
    reply.mask = "rank";
    reply.bind = "none";
    reply.gcds = {{0, 0, "0000:c1:00.0", "00d1a2b3c4d5e6f7", 128, "gfx90a:sramecc+", {48, 49, 50, 112}, 3, 7},
                  {1, std::nullopt, "0000:c6:00.0/3", "", std::nullopt, "", {}, {}, {}}};
    reply.mounts = {{"/var/cache/amd-gpu-agent/mounts/ab", "/opt/software"}, {"/var/cache/c", "/user-environment"}};
    reply.cache = "/var/cache/amd-gpu-jobs/17/abcd";
    reply.edits = {{edit::kind::prepend, "PATH", "/opt/a b/bin"}, {edit::kind::unset, "X", ""}};
    reply.report = {"one", "two = 2"};
    const auto read = to_reply(decoded(*encode(to_message(reply))));
    REQUIRE(read);
    CHECK(*read == reply);
}

TEST_CASE("64 partitions with all that is said of them fit into one message", "[exchange][case:PART-5]") {
    preparation_reply reply;
    for (uint32_t i = 0; i < 64; ++i) {
        granted_gcd die{i, i, "0000:c1:00.0", "00d1a2b3c4d5e6f7", 128 + i, "gfx942:sramecc+:xnack-", {}, {}, {}};
        for (uint32_t core = 0; core < 24; ++core)
            die.cores.push_back(core * 2);
        reply.gcds.push_back(std::move(die));
        reply.report.push_back(std::string(64 * 6, 'x'));
    }
    CHECK(encode(to_message(reply)));
}

TEST_CASE("a peer of a far version is refused in words, a near one understood", "[exchange]") {
    auto raw = [](const char* version) {
        message from("prepare");
        from.add("version", version).add("job", "1").add("uid", "0").add("from_the_future", "yes");
        return to_request(from);
    };
    CHECK(raw("1"));
    CHECK(raw("2"));
    CHECK_FALSE(raw("3"));
    CHECK_FALSE(raw("x"));
    CHECK_FALSE(raw(""));
}

TEST_CASE("missing and malformed fields are refused", "[exchange]") {
    message from("prepare");
    from.add("version", "1").add("uid", "0");
    CHECK_FALSE(to_request(from));
    CHECK_FALSE(to_request(message(from).add("job", "-1")));
    CHECK_FALSE(to_request(message(from).add("job", "4294967296")));
    CHECK_FALSE(to_request(message(from).add("job", "1").add("gpus", "3-1")));
    message reply("prepared");
    reply.add("version", "1").add("outcome", "ready");
    CHECK(to_reply(reply));
    CHECK_FALSE(to_reply(message(reply).add("gcd", "0 0 0000:c1:00.0")));
    CHECK_FALSE(to_reply(message(reply).add("gcd", "0 0 0000:c1:00.0 - - - - more")));
    CHECK_FALSE(to_reply(message(reply).add("edit", "explode PATH=/")));
    for (const char* mount : {"/a", "/a b", "a /b", "/a /b c", "/a/../etc /b", ""}) {
        CAPTURE(mount);
        CHECK_FALSE(to_reply(message(reply).add("mount", mount)));
    }
    CHECK_FALSE(to_reply(message(reply).add("cache", "relative")));
}

TEST_CASE("ranges of numbers are read and written", "[exchange]") {
    CHECK(parse_ranges("0-3,8") == std::vector<uint32_t>{0, 1, 2, 3, 8});
    CHECK(parse_ranges("3,1") == std::vector<uint32_t>{3, 1});
    CHECK(parse_ranges("")->empty());
    for (const char* bad : {"a", "1,", ",1", "3-1", "1-", "-1", "0-9000", "1 2", "4294967296"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_ranges(bad));
    }
    CHECK(ranges_text({0, 1, 2, 3, 8}) == "0-3,8");
    CHECK(ranges_text({3, 1}) == "3,1");
    CHECK(ranges_text({4294967294U, 4294967295U}) == "4294967294-4294967295");
    CHECK(parse_ranges("4294967294-4294967295")->size() == 2);
}

TEST_CASE("a GPU that is listed twice is asked for once", "[protocol]") {
    preparation_request request;
    request.job = 7;
    request.gpus = {3, 0, 3, 0};
    const auto read = to_request(to_message(request));
    REQUIRE(read);
    CHECK(read->gpus == std::vector<uint32_t>{0, 3});
}
