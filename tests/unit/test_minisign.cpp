// Signatures: ours against those of the program minisign, both ways, and everything that must not pass.
#include "system/minisign.hpp"

#include "system/files.hpp"
#include "system/process.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;
using Catch::Matchers::Contains;

namespace {

/// A key pair that minisign made, and what it signs with it.
class minisign {
  public:
    minisign() {
        REQUIRE(call({"-G", "-W", "-f", "-p", path("public"), "-s", path("secret")}));
        secret = text_of("secret");
        const std::string file = text_of("public");
        key = std::string(trimmed(file.substr(file.find('\n') + 1)));
    }

    bool call(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "/usr/bin/minisign");
        const auto ended =
            run({arguments, {"PATH=/usr/bin", "HOME=/nonexistent"}, {}}, deadline::in(std::chrono::seconds(20)));
        REQUIRE(ended);
        UNSCOPED_INFO(ended->output << ended->diagnostics);
        return ended->succeeded();
    }
    /// The signature of a content. `legacy`: of the content itself and not of its hash.
    std::string sign(const std::string& content, bool legacy = false) const {
        directory.write("file", content);
        std::vector<std::string> arguments{"-S", "-s", path("secret"), "-m", path("file"), "-t", "trusted words"};
        if (legacy)
            arguments.emplace_back("-l");
        REQUIRE(call(arguments));
        return text_of("file.minisig");
    }
    bool verifies(const std::string& content, const std::string& signature) const {
        directory.write("file", content);
        directory.write("file.minisig", signature);
        return call({"-V", "-p", path("public"), "-m", path("file")});
    }

    [[nodiscard]] std::string path(const std::string& name) const { return directory.path() + "/" + name; }
    [[nodiscard]] std::string text_of(const std::string& name) const {
        const auto text = read_file(path(name));
        REQUIRE(text);
        return *text;
    }

    temporary_directory directory;
    std::string secret;
    std::string key;
};

std::string refusal(const std::string& content, const std::string& signature, const std::vector<std::string>& keys) {
    const auto trusted = verify_signature(content, signature, keys);
    if (trusted)
        return "passes";
    CHECK(trusted.failure().code == error_code::peer);
    return trusted.failure().what;
}

} // namespace

TEST_CASE("signatures of minisign are verified, of both kinds and of empty files", "[minisign]") {
    const minisign real;
    const minisign other;
    for (const bool legacy : {false, true})
        for (const std::string& content : {std::string("hello\n"), std::string(), std::string(100'000, '\0')}) {
            const std::string signature = real.sign(content, legacy);
            const auto trusted = verify_signature(content, signature, {other.key, real.key});
            REQUIRE(trusted);
            CHECK(*trusted == "trusted words");
            CHECK(refusal(content + "x", signature, {real.key}) == "its signature does not fit its content");
            CHECK(refusal(content, signature, {other.key}) == "it is signed by a key that is not trusted here");
            CHECK(refusal(content, signature, {}) == "it is signed by a key that is not trusted here");
        }
}

TEST_CASE("minisign verifies our signatures", "[minisign]") {
    const minisign real;
    const auto key = signing_key::parse(real.secret);
    REQUIRE(key);
    CHECK(key->public_key() == real.key);
    for (const std::string& content : {std::string("hello\n"), std::string(), std::string(100'000, '\0')}) {
        const auto signature = key->sign(content, "version:3");
        REQUIRE(signature);
        CHECK(real.verifies(content, *signature));
        CHECK_FALSE(real.verifies(content + "x", *signature));
        const auto trusted = verify_signature(content, *signature, {real.key});
        REQUIRE(trusted);
        CHECK(*trusted == "version:3");
    }
}

TEST_CASE("no bit of a signature can be changed", "[minisign]") {
    const minisign real;
    const std::string content = "hello\n";
    const std::string signature = real.sign(content);
    const std::size_t end_of_comment = signature.find('\n');
    for (std::size_t at = end_of_comment + 1; at + 1 < signature.size(); ++at) {
        std::string changed = signature;
        changed[at] = changed[at] == 'A' ? 'B' : 'A';
        INFO(at << ": " << changed);
        CHECK(refusal(content, changed, {real.key}) != "passes");
    }
    for (std::size_t size = 0; size + 1 < signature.size(); ++size)
        CHECK(refusal(content, signature.substr(0, size), {real.key}) != "passes");
    CHECK(refusal(content, signature + "more\n", {real.key}) != "passes");
    CHECK(refusal(content, std::string(5000, 'x'), {real.key}) == "its signature is not in minisign's form");
}

TEST_CASE("keys that are none are refused", "[minisign]") {
    const minisign real;
    CHECK(public_key_mistake(real.key).empty());
    for (const std::string& text :
         {std::string(), std::string("RW"), real.key + "A", real.key.substr(1), "RX" + real.key.substr(2), real.secret})
        CHECK_THAT(public_key_mistake(text), Contains("no public key of minisign"));
    const auto none = signing_key::parse(real.key);
    REQUIRE_FALSE(none);
    CHECK(none.failure().what == "no secret key of minisign");
    std::string damaged = real.secret;
    damaged[damaged.size() / 2 + 60] ^= 1;
    CHECK_FALSE(signing_key::parse(damaged));
    std::string encrypted = real.secret;
    encrypted.replace(encrypted.find("RWQAAEIy"), 8, "RWRTY0Iy"); // "Sc": scrypt
    const auto protected_key = signing_key::parse(encrypted);
    REQUIRE_FALSE(protected_key);
    CHECK_THAT(protected_key.failure().what, Contains("protected by a password"));
}
