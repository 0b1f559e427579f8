#include "spank/environment_file.hpp"
#include "spank/sha256.hpp"
#include "system/sha256.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

using namespace amd_gpu;

TEST_CASE("the plugin's own SHA-256 gives what the standard says", "[environment_file]") {
    // The examples of FIPS 180-4's companion document, and those of NIST's byte test vectors.
    CHECK(sha256_digits("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256_digits("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_digits("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(sha256_digits(std::string(1000000, 'a')) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the plugin's SHA-256 and libcrypto's agree for every length about a block", "[environment_file]") {
    std::string text;
    for (int length = 0; length < 200; ++length) {
        CHECK(sha256_digits(text) == sha256_of(text));
        text += static_cast<char>(length * 37);
    }
}

TEST_CASE("env=FILE becomes the digest of the file", "[environment_file]") {
    const temporary_directory directory;
    const auto file = directory.write("m.scm", "(specifications->manifest '(\"hello\"))\n");
    const auto name = environment_of_file(file);
    REQUIRE(name);
    CHECK(*name == "sha256:" + sha256_of("(specifications->manifest '(\"hello\"))\n"));
    const auto largest = directory.write("largest.scm", std::string(longest_environment_file, ';'));
    CHECK(environment_of_file(largest));
}

TEST_CASE("what is no manifest is refused at submit, and nothing is waited for", "[environment_file]") {
    const temporary_directory directory;
    const auto refusal = [](const std::string& path) {
        const auto made = environment_of_file(path);
        REQUIRE_FALSE(made);
        CHECK(made.failure().code == error_code::usage);
        CHECK(made.failure().what.find('\n') == std::string::npos);
        return made.failure().what;
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(refusal(directory.path()), Contains("is a directory"));
    CHECK_THAT(refusal(directory.path() + "/none.scm"), Contains("No such file"));
    CHECK_THAT(refusal("/dev/zero"), Contains("no regular file"));
    const std::string pipe = directory.path() + "/pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THAT(refusal(pipe), Contains("no regular file"));
    CHECK_THAT(refusal(directory.write("empty.scm", "")), Contains("is empty"));
    CHECK_THAT(refusal(directory.write("long.scm", std::string(longest_environment_file + 1, ';'))),
               Contains("longer than 1 MiB"));
}

TEST_CASE("what a job carries is read strictly", "[environment_file]") {
    const carried_file file{"sha256:" + std::string(64, 'a'), "./my manifest.scm"};
    CHECK(parse_carried_file(file.text()) == file);
    const std::string digits(64, 'a');
    for (const std::string& bad :
         {std::string(), std::string("sha256:"), "sha256:" + digits, "sha256:" + digits + " ",
          "sha256:" + std::string(63, 'a') + "g /m", "sha512:" + digits + " /m", "sha256:" + digits + "/m"})
        CHECK_FALSE(parse_carried_file(bad));
}

TEST_CASE("messages name the file and not its digest", "[environment_file]") {
    const carried_file file{"sha256:" + std::string(64, 'b'), "./m.scm"};
    CHECK(told_by_path("no " + file.name + ": realise " + file.name, file) == "no ./m.scm: realise ./m.scm");
    CHECK(told_by_path("nothing", file) == "nothing");
}
