#include "system/sha256.hpp"

#include "system/files.hpp"

#include <array>
#include <cerrno>
#include <openssl/evp.h>
#include <unistd.h>
#include <vector>

namespace amd_gpu {

struct sha256::state {
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

sha256::sha256()
    : state_(std::make_unique<state>()) {
    EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr);
}
sha256::sha256(sha256&&) noexcept = default;
sha256& sha256::operator=(sha256&&) noexcept = default;
sha256::~sha256() = default;

void sha256::add(std::string_view bytes) {
    EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string sha256::digits() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size);
    constexpr std::string_view hexadecimal = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
        text += hexadecimal[digest.at(i) >> 4U];
        text += hexadecimal[digest.at(i) & 15U];
    }
    return text;
}

std::string sha256_of(std::string_view text) {
    sha256 sum;
    sum.add(text);
    return sum.digits();
}

result<std::string> sha256_of_file(int descriptor) {
    constexpr std::size_t piece = 1UL << 20;
    std::vector<char> buffer(piece);
    sha256 sum;
    for (off_t offset = 0;;) {
        const ssize_t count = ::pread(descriptor, buffer.data(), buffer.size(), offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return system_error(errno, "reading");
        if (count == 0)
            return sum.digits();
        sum.add({buffer.data(), static_cast<std::size_t>(count)});
        offset += count;
    }
}

} // namespace amd_gpu
