#include "environment/variant.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace amd_gpu;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

const std::string digits(64, '7');

/// A good record, as others write it.
json prefix_record() {
    return {{"schema", 1},
            {"environment", "hpl"},
            {"provider", "command"},
            {"targets", {"gfx90a", "gfx942"}},
            {"storage", "prefix"},
            {"path", "/sw/hpl"},
            {"edits", {"prepend PATH=${prefix}/bin", "set ROCM_PATH=${prefix}"}},
            {"provenance", {{"spack", "1.0"}}},
            {"created", 1796099568}};
}

std::string mistake_of(const json& record) {
    const auto read = parse_record(record.dump());
    REQUIRE_FALSE(read);
    CHECK(read.failure().code == error_code::configuration);
    return read.failure().what;
}

json with(const char* key, const json& value) {
    json record = prefix_record();
    record[key] = value;
    return record;
}

json blob_record() {
    json record = prefix_record();
    record.erase("path");
    record["storage"] = "blob";
    record["blob"] = digits;
    record["blob_bytes"] = 4096;
    return record;
}

} // namespace

TEST_CASE("a record is read as it was written", "[variant]") {
    const auto read = parse_record(prefix_record().dump());
    REQUIRE(read);
    CHECK(read->environment == "hpl");
    CHECK(read->targets.size() == 2);
    CHECK(read->edits.size() == 2);
    CHECK(read->path == "/sw/hpl");
    CHECK(read->suggests_edits);
    CHECK_FALSE(read->substitutable);
    const auto again = parse_record(to_record(*read));
    REQUIRE(again);
    CHECK(*again == *read);

    json with_mount = blob_record();
    with_mount["mount_point"] = "/opt/stack";
    const auto image = parse_record(with_mount.dump());
    REQUIRE(image);
    CHECK(image->key() == digits);
    CHECK(*parse_record(to_record(*image)) == *image);
}

TEST_CASE("a record of a newer schema is refused in words", "[variant]") {
    CHECK_THAT(mistake_of(with("schema", 2)), Contains("newer than this program"));
    CHECK_THAT(mistake_of(with("schema", (1LL << 32) + 1)), Contains("newer"));
    CHECK_THAT(mistake_of(with("schema", "1")), Contains("schema"));
    CHECK_THAT(mistake_of(with("schema", 0)), Contains("schema"));
}

TEST_CASE("what is no record is refused", "[variant]") {
    for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("null"),
                                    std::string("{}"), prefix_record().dump().substr(0, 80)})
        CHECK_FALSE(parse_record(text));
    CHECK_FALSE(parse_record(std::string(longest_record + 1, ' ')));
    CHECK_FALSE(parse_record(std::string(200000, '[')));
}

// What a forged record would need to make anybody open, mount or run something.
TEST_CASE("a record cannot lead anywhere but to a plain path", "[variant]") {
    for (const char* path : {"", "/", "sw/hpl", "/sw/../etc", "/sw/./x", "//sw", "/sw//x", "/sw/a b", "/sw:/etc",
                             "/sw/\nx", "/sw/\tx", "/sw/\x7f"})
        CHECK_THAT(mistake_of(with("path", path)), Contains("path"));
    CHECK_THAT(mistake_of(with("path", "/" + std::string(5000, 'a'))), Contains("path"));
    CHECK_THAT(mistake_of(with("storage", "mount")), Contains("storage"));
    for (const char* place : {"/", "relative", "/a/../b", "/a b", "/a:b"}) {
        json record = blob_record();
        record["mount_point"] = place;
        CHECK_THAT(mistake_of(record), Contains("mount_point"));
    }
}

TEST_CASE("an image is named by its digest and size", "[variant]") {
    for (const std::string& blob :
         {std::string(), std::string(63, 'a'), std::string(64, 'A'), "../" + digits.substr(3), std::string(64, 'g')}) {
        json record = blob_record();
        record["blob"] = blob;
        CHECK_THAT(mistake_of(record), Contains("blob"));
    }
    for (const json& bytes : {json(0), json(-1), json(1.5), json("1"), json(1e300), json(nullptr)}) {
        json record = blob_record();
        record["blob_bytes"] = bytes;
        CHECK_THAT(mistake_of(record), Contains("blob_bytes"));
    }
}

TEST_CASE("targets of a record are canonical, so that one variant has one name", "[variant]") {
    CHECK_THAT(mistake_of(with("targets", {"gfx942", "gfx90a"})), Contains("sorted"));
    CHECK_THAT(mistake_of(with("targets", {"gfx90a", "gfx90a"})), Contains("sorted"));
    CHECK_THAT(mistake_of(with("targets", json::array())), Contains("none"));
    CHECK_THAT(mistake_of(with("targets", {"gfx90b"})), Contains("gfx90"));
    CHECK_THAT(mistake_of(with("targets", "gfx90a")), Contains("targets"));
}

TEST_CASE("a record edits only what an environment may edit", "[variant]") {
    for (const char* name : {"LD_PRELOAD", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION",
                             "SLURM_JOB_ID", "PMI_RANK", "PMIX_RANK", "HOME", "LD_AUDIT"})
        CHECK_THAT(mistake_of(with("edits", {std::string("set ") + name + "=x"})), Contains(name));
    CHECK_THAT(mistake_of(with("edits", {"run rm -rf /"})), Contains("edits"));
    CHECK_THAT(mistake_of(with("edits", std::vector<std::string>(1001, "set A=b"))), Contains("edits"));
    CHECK_THAT(mistake_of(with("edits", {"set A=b\nc"})), Contains("edits"));
}

TEST_CASE("paths are plain or not", "[variant]") {
    for (const char* good : {"/a", "/a/b", "/a/b/", "/gnu/store/abc-profile", "/opt/rocm-7.1", "/sw/漢"})
        CHECK(is_plain_path(good));
    CHECK(is_digest_name("sha256:" + digits));
    CHECK_FALSE(is_digest_name("sha256:" + digits + "0"));
    CHECK_FALSE(is_digest_name("demo"));
}
