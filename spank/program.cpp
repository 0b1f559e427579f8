#include "spank/program.hpp"

#include "spank/bounded.hpp"
#include "spank/library_path.hpp"
#include "spank/loader_list.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <elf.h>
#include <memory>
#include <unistd.h>

namespace amd_gpu {
namespace {

constexpr std::size_t most_headers = 256;         // no linker writes more
constexpr std::size_t longest_interpreter = 4096; // PATH_MAX

// The directories of all software of a kind, where what belongs together does not lie together.
constexpr std::string_view stores[] = {"/gnu/store", "/nix/store"};

using open_file = std::unique_ptr<FILE, int (*)(FILE*)>;

template<typename T>
bool read_at(FILE* file, uint64_t offset, T& to) {
    return ::fseeko(file, static_cast<off_t>(offset), SEEK_SET) == 0 && std::fread(&to, sizeof to, 1, file) == 1;
}

std::string real_path(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    return real ? std::string(real.get()) : path;
}

std::string_view value_in(const std::vector<std::string>& environment, std::string_view name) {
    for (const std::string_view one : environment)
        if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
            return one.substr(name.size() + 1);
    return {};
}

own_libraries libraries_of(const std::string& variant) {
    own_libraries own;
    own.real_place = real_path(variant);
    for (const auto store : stores)
        if (lies_below(own.real_place, store))
            own.store = store;
    for (const char* below : {"/lib", "/lib64"}) {
        const std::string directory = variant + below;
        const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(directory.c_str()), ::closedir);
        while (opened) {
            const dirent* entry = ::readdir(opened.get());
            if (entry == nullptr)
                break;
            if (!is_checked(entry->d_name))
                continue;
            const std::string path = directory + "/" + entry->d_name;
            own.files.push_back({path, real_path(path)});
        }
    }
    return own;
}

/// Runs the loader on a program; nothing but the loader's own code runs.
std::string loader_says(const std::string& loader, const std::string& program, std::vector<std::string> environment,
                        const char* debug, std::chrono::milliseconds limit) {
    if (debug != nullptr)
        environment.emplace_back(debug);
    const auto answer = run_bounded(limit, [&] {
        std::vector<char*> variables;
        for (auto& one : environment)
            variables.push_back(one.data());
        variables.push_back(nullptr);
        const char* words[] = {loader.c_str(), "--list", program.c_str(), nullptr};
        ::execve(words[0], const_cast<char* const*>(words), variables.data());
    });
    return answer.value_or("");
}

/// One line for each finding: a letter for its weight, 'r' or a blank for a run path, and the text.
std::string findings_of(const std::string& name, const std::vector<std::string>& environment,
                        const std::string& variant, std::chrono::milliseconds limit) {
    const auto own = libraries_of(variant);
    if (own.files.empty())
        return {};
    const std::string program = find_program(name, value_in(environment, "PATH"));
    const std::string loader = program.empty() ? "" : interpreter_of(program);
    if (loader.empty())
        return {};
    const auto listed = parse_loader_list(loader_says(loader, program, environment, nullptr, limit));
    const auto findings = judge_loaded(program, listed, own, real_path);
    if (findings.empty())
        return {};
    // Only now is it worth the loader's whole account.
    const auto account = loader_says(loader, program, environment, "LD_DEBUG=libs,files", limit);
    std::string lines;
    for (const auto& finding : findings) {
        const auto why = parse_loader_reason(account, finding.found.name);
        std::string text = text_of(finding, program, why);
        std::replace(text.begin(), text.end(), '\n', '?');
        lines += finding.how == loader_finding::weight::fault     ? 'f'
                 : finding.how == loader_finding::weight::warning ? 'w'
                                                                  : 'r';
        lines += why.how == "RPATH" || why.how == "RUNPATH" ? 'r' : ' ';
        lines += text + "\n";
    }
    return lines;
}

} // namespace

std::string find_program(const std::string& name, std::string_view path) {
    if (name.find('/') != std::string::npos)
        return name;
    for (const auto& directory : elements_of(path))
        if (std::string file = directory + "/" + name; ::access(file.c_str(), X_OK) == 0)
            return file;
    return {};
}

std::string interpreter_of(const std::string& program) {
    const open_file file(std::fopen(program.c_str(), "rbe"), std::fclose);
    Elf64_Ehdr header{};
    if (!file || !read_at(file.get(), 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
        return {};
    for (std::size_t i = 0; i < std::min<std::size_t>(header.e_phnum, most_headers); ++i) {
        Elf64_Phdr part{};
        if (!read_at(file.get(), header.e_phoff + i * sizeof part, part))
            return {};
        if (part.p_type != PT_INTERP)
            continue;
        std::string loader(std::min<std::size_t>(part.p_filesz, longest_interpreter), '\0');
        if (::fseeko(file.get(), static_cast<off_t>(part.p_offset), SEEK_SET) != 0 ||
            std::fread(loader.data(), loader.size(), 1, file.get()) != 1)
            return {};
        loader.resize(std::strlen(loader.c_str()));
        return loader.starts_with('/') ? loader : "";
    }
    return {};
}

std::optional<program_check> check_program(const std::string& name, const std::vector<std::string>& environment,
                                           const std::string& variant, std::chrono::milliseconds limit) {
    const auto answer = run_bounded(limit, [&] { write_out(findings_of(name, environment, variant, limit)); });
    if (!answer)
        return std::nullopt;
    program_check check;
    for (std::string_view rest = *answer; rest.size() > 2;) {
        const auto end = std::min(rest.find('\n'), rest.size());
        const std::string text(rest.substr(std::min<std::size_t>(2, end), end - std::min<std::size_t>(2, end)));
        if (rest[0] == 'f' && check.fault.empty()) {
            check.fault = text;
            check.linked_so = rest[1] == 'r';
        } else if (rest[0] == 'w') {
            check.warnings.push_back(text);
        } else if (rest[0] == 'r') {
            check.remarks.push_back(text);
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return check;
}

} // namespace amd_gpu
