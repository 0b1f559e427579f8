// Reading of environments.d/*.toml.
#include "environment/catalogue.hpp"

#include "configuration/document.hpp"
#include "configuration/values.hpp"
#include "environment/edit_tables.hpp"
#include "environment/prefix.hpp"
#include "system/files.hpp"
#include "target/spelling.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace amd_gpu {

namespace {

constexpr std::string_view suffix = ".toml";
constexpr std::string_view keys[] = {"description", "provider", "path",   "targets", "prefer",
                                     "edits",       "guix",     "bundle", "command"};
constexpr std::string_view providers[] = {"prefix", "guix", "bundle", "command"};

void read_text(const toml_entry& entry, std::string& to, complaints& wrong) {
    if (entry.value.what != toml_value::kind::text)
        wrong.add(entry.line, entry.key + " must be a text, not " + std::string(entry.value.kind_text()));
    else if (has_control(entry.value.text))
        wrong.add(entry.line, entry.key + " holds a control character");
    else
        to = entry.value.text;
}

void read_targets(const toml_entry& entry, std::vector<target_id>& to, complaints& wrong) {
    if (entry.value.what != toml_value::kind::list || entry.value.list.empty())
        return wrong.add(entry.line, "targets must be a list of targets, such as [\"gfx90a\", \"gfx942:xnack-\"]");
    for (const toml_value& one : entry.value.list) {
        if (one.what != toml_value::kind::text) {
            wrong.add(one.line, "targets must hold texts, not " + std::string(one.kind_text()));
            continue;
        }
        const result<target_id> target = parse_target(one.text);
        if (!target)
            wrong.add(one.line, target.failure().what);
        else if (std::find(to.begin(), to.end(), *target) != to.end())
            wrong.add(one.line, "target " + target->text() + " is named twice");
        else
            to.push_back(*target);
    }
    std::sort(to.begin(), to.end());
}

void read_edits(const toml_entry& entry, std::vector<edit>& to, complaints& wrong) {
    if (entry.value.what != toml_value::kind::table)
        return wrong.add(entry.line, "edits must be a table, [edits]");
    edit_tables tables(wrong);
    for (const toml_entry& one : entry.value.table)
        tables.read(one);
    to = tables.edits();
}

void read_preference(const toml_entry& entry, preference& to, complaints& wrong) {
    if (entry.value.text == "exact")
        to = preference::exact;
    else if (entry.value.text == "substitutable")
        to = preference::substitutable;
    else
        wrong.add(entry.line, "prefer must be \"exact\" or \"substitutable\"");
}

void read_key(const toml_entry& entry, environment& to, complaints& wrong) {
    if (entry.key == "description")
        read_text(entry, to.description, wrong);
    else if (entry.key == "provider")
        read_text(entry, to.provider, wrong);
    else if (entry.key == "path")
        read_text(entry, to.path, wrong);
    else if (entry.key == "targets")
        read_targets(entry, to.targets, wrong);
    else if (entry.key == "prefer")
        read_preference(entry, to.prefer, wrong);
    else if (entry.key == "edits")
        read_edits(entry, to.edits, wrong);
    else if (entry.key == "guix")
        read_source(entry, to.guix, wrong);
    else if (entry.key == "bundle")
        read_source(entry, to.bundle, wrong);
    else if (entry.key == "command")
        read_source(entry, to.program, wrong);
    else
        wrong.unknown(entry, "key", {std::begin(keys), std::end(keys)});
}

/// Whether the definition holds what its provider needs, and nothing that belongs to another.
void check_provider(const toml_value& document, const environment& made, complaints& wrong) {
    if (std::find(std::begin(providers), std::end(providers), made.provider) == std::end(providers)) {
        nearest_name nearest(made.provider);
        for (const std::string_view known : providers)
            nearest.consider(known);
        return wrong.add(document.find("provider")->line,
                         "unknown provider " + quoted(made.provider) +
                             (nearest.best() ? "; did you mean " + std::string(*nearest.best()) + "?"
                                             : "; known: prefix, guix, bundle, command"));
    }
    for (const std::string_view other : {"guix", "bundle", "command", "path"}) {
        const std::string_view of = other == "path" ? "prefix" : other;
        const toml_entry* entry = document.find(other);
        if (entry != nullptr && of != made.provider)
            wrong.add(entry->line, std::string(other) + " is for provider = " + quoted(of) + ", which this is not");
        if (entry == nullptr && of == made.provider)
            wrong.add(0, of == "prefix" ? "path is missing; it looks like \"/opt/envs/" + made.name + "/{target}\""
                                        : "the table [" + std::string(other) + "] is missing");
    }
    const toml_entry* path = document.find("path");
    if (made.provider == "prefix" && path != nullptr && path->value.what == toml_value::kind::text)
        if (const std::string mistake = prefix_path_mistake(path->value.text); !mistake.empty())
            wrong.add(path->line, mistake);
}

} // namespace

bool is_environment_name(std::string_view name) {
    return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
               c == '+' || c == '-';
    });
}

result<std::vector<std::string>> environment_files(const std::string& directory) {
    std::vector<std::string> files;
    if (::access(directory.c_str(), R_OK | X_OK) != 0) {
        if (errno == ENOENT)
            return files;
        return error{error_code::configuration, system_error(errno, directory).what};
    }
    for (const std::string& name : list_directory(directory))
        if (name.ends_with(suffix) && name.size() > suffix.size() && name.front() != '.')
            files.push_back(directory + "/" + name);
    return files;
}

result<environment> load_environment(const std::string& file) {
    const result<toml_value> document = read_document(file);
    if (!document)
        return error{error_code::configuration, document.failure().what};

    complaints wrong(file);
    environment made;
    made.file = file;
    made.name = file.substr(file.rfind('/') + 1);
    made.name.erase(made.name.size() - std::min(made.name.size(), suffix.size()));
    if (!is_environment_name(made.name))
        wrong.add(0, "the name of an environment may hold letters, digits, '.', '_', '+' and '-' only");
    for (const toml_entry& entry : document->table)
        read_key(entry, made, wrong);

    check_provider(*document, made, wrong);
    if (!wrong.empty())
        return wrong.failure();
    return made;
}

result<catalogue> load_catalogue(const std::string& directory) {
    const result<std::vector<std::string>> files = environment_files(directory);
    if (!files)
        return files.failure();
    catalogue all;
    std::string mistakes;
    for (const std::string& file : *files) {
        result<environment> one = load_environment(file);
        if (one)
            all.emplace(one->name, *one);
        else
            mistakes += (mistakes.empty() ? "" : "\n") + one.failure().what;
    }
    if (!mistakes.empty())
        return error{error_code::configuration, mistakes};
    return all;
}

} // namespace amd_gpu
