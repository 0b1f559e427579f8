// The edits that put a variant to use: what its directories suggest, what its activate.toml says, what the site adds.
#include "environment/catalogue.hpp"

#include "environment/edit_paths.hpp"
#include "environment/edit_tables.hpp"
#include "environment/prefix.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <unistd.h>

namespace amd_gpu {

namespace {

/// A variable and the directories of a prefix that belong into it.
struct suggestion {
    std::string_view variable;
    std::string_view directories[3];
    bool prefix_itself = false; ///< the variable takes the prefix, not the directory that shows that it is wanted
};

// After GNU's directory names. LD_LIBRARY_PATH comes first for what is linked without a run path.
constexpr suggestion suggestions[] = {
    {"PATH", {"bin"}},
    {"LD_LIBRARY_PATH", {"lib", "lib64"}},
    {"LIBRARY_PATH", {"lib", "lib64"}},
    {"CPATH", {"include"}},
    {"MANPATH", {"share/man", "man"}},
    {"PKG_CONFIG_PATH", {"lib/pkgconfig", "lib64/pkgconfig", "share/pkgconfig"}},
    {"CMAKE_PREFIX_PATH", {"lib/cmake", "lib64/cmake", "share/cmake"}, true},
};

/// The one lib/pythonX.Y/site-packages; nothing when there are several, because no interpreter may read another's.
std::string python_packages(const std::string& prefix) {
    std::vector<std::string> found;
    for (const std::string& name : list_directory(prefix + "/lib"))
        if (const std::string path = prefix + "/lib/" + name + "/site-packages";
            name.starts_with("python3.") && is_directory(path))
            found.push_back(path);
    return found.size() == 1 ? found.front() : "";
}

std::vector<edit> suggested_edits(const std::string& prefix) {
    std::vector<edit> edits;
    for (const suggestion& one : suggestions) {
        std::string value;
        for (const std::string_view directory : one.directories) {
            const std::string path = prefix + "/" + std::string(directory);
            if (directory.empty() || !is_directory(path))
                continue;
            if (one.prefix_itself)
                value = prefix;
            else
                value += (value.empty() ? "" : ":") + path;
        }
        if (!value.empty())
            edits.push_back({edit::kind::prepend, std::string(one.variable), std::move(value)});
    }
    if (std::string packages = python_packages(prefix); !packages.empty())
        edits.push_back({edit::kind::prepend, "PYTHONPATH", std::move(packages)});
    // rocm_smi's users look for a file of this name and else search /opt (rocm_smi.py, rsmiBindings.py).
    if (std::string library = prefix + "/lib/librocm_smi64.so"; ::access(library.c_str(), R_OK) == 0)
        edits.push_back({edit::kind::set, "ROCM_SMI_LIB_PATH", std::move(library)});
    return edits;
}

/// What a variant says about itself.
struct activation_file {
    bool replace_defaults = false;
    std::vector<edit> edits;
};

result<activation_file> read_activation_file(const std::string& file) {
    const result<toml_value> document = read_document(file);
    activation_file made;
    if (!document && document.failure().code == error_code::not_found)
        return made;
    if (!document)
        return document.failure();
    complaints wrong(file);
    edit_tables tables(wrong);
    std::vector<std::string_view> known(edit_tables::names.begin(), edit_tables::names.end());
    known.emplace_back("replace_defaults");
    for (const toml_entry& entry : document->table) {
        if (entry.key == "replace_defaults") {
            made.replace_defaults = entry.value.truth;
            if (entry.value.what != toml_value::kind::truth)
                wrong.add(entry.line, "replace_defaults must be true or false");
        } else if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
            wrong.unknown(entry, "key", known);
        } else {
            tables.read(entry);
        }
    }
    if (!wrong.empty())
        return wrong.failure();
    made.edits = tables.edits();
    return made;
}

} // namespace

result<std::vector<edit>> activation_edits(const variant& chosen, const environment& definition) {
    result<activation_file> file = read_activation_file(chosen.path + "/activate.toml");
    if (!file)
        return file.failure();
    std::vector<edit> edits;
    if (chosen.suggests_edits && !file->replace_defaults)
        edits = suggested_edits(chosen.path);
    for (const std::vector<edit>& more : {chosen.edits, file->edits, definition.edits})
        for (const edit& change : more)
            edits.push_back(expanded(change, chosen.path));
    drop_c_library_directories(edits);
    return edits;
}

} // namespace amd_gpu
