// Reading of a model file: bases are merged as TOML tables first, then every key is taken once; what is left is an
// error.
#include "tests/sim/node/model.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <toml++/toml.h>

namespace sim {
namespace {

constexpr int deepest_base = 8;

/// Lays OVER onto UNDER: tables are merged, all else replaces.
void lay_over(toml::table& under, const toml::table& over) {
    for (const auto& [key, value] : over) {
        const toml::table* table = value.as_table();
        toml::table* below = under[key.str()].as_table();
        if (table != nullptr && below != nullptr) {
            lay_over(*below, *table);
        } else {
            under.insert_or_assign(key.str(), value);
        }
    }
}

/// A table whose keys are taken one by one. The first complaint is kept; taking goes on with defaults after it.
class reader {
  public:
    reader(const toml::table& table, std::string where, std::string& complaint)
        : table_(table)
        , where_(std::move(where))
        , complaint_(complaint) {}

    template<typename T>
    void take(const char* key, T& value) {
        const toml::node* node = find(key);
        if (node == nullptr) {
            return;
        }
        bool good = false;
        if constexpr (std::is_same_v<T, std::string>) {
            good = node->is_string();
            value = node->value_or(std::string());
        } else if constexpr (std::is_same_v<T, double>) {
            good = node->is_number();
            value = node->value_or(0.0);
        } else {
            good = node->is_integer();
            value = static_cast<T>(node->value_or(std::int64_t{0}));
        }
        require(good, key, "has the wrong type");
    }

    void take(const char* key, std::vector<std::string>& values) {
        for (const toml::node& node : array(key)) {
            require(node.is_string(), key, "wants strings");
            values.push_back(node.value_or(std::string()));
        }
    }
    void take(const char* key, std::vector<int>& values) {
        for (const toml::node& node : array(key)) {
            require(node.is_integer(), key, "wants whole numbers");
            values.push_back(static_cast<int>(node.value_or(std::int64_t{0})));
        }
    }
    void take(const char* key, numbers& values) {
        for (const auto& [name, node] : sub_table(key)) {
            require(node.is_integer(), key, "wants whole numbers");
            values[std::string(name.str())] = node.value_or(std::int64_t{0});
        }
    }
    void take(const char* key, texts& values) {
        for (const auto& [name, node] : sub_table(key)) {
            require(node.is_string(), key, "wants strings");
            values[std::string(name.str())] = node.value_or(std::string());
        }
    }

    /// The table under KEY; an empty one when there is none.
    const toml::table& sub_table(const char* key) {
        static const toml::table none;
        const toml::node* node = find(key);
        require(node == nullptr || node->is_table(), key, "is no table");
        return node != nullptr && node->is_table() ? *node->as_table() : none;
    }
    /// The array under KEY; an empty one when there is none.
    const toml::array& array(const char* key) {
        static const toml::array none;
        const toml::node* node = find(key);
        require(node == nullptr || node->is_array(), key, "is no array");
        return node != nullptr && node->is_array() ? *node->as_array() : none;
    }

    void require(bool condition, const std::string& key, const std::string& problem) {
        if (!condition && complaint_.empty()) {
            complaint_ = where_ + (where_.empty() || key.empty() ? "" : ".") + key + " " + problem;
        }
    }
    /// To be called last: complains about keys that nobody took.
    void finish() {
        for (const auto& [key, value] : table_) {
            require(taken_.count(std::string(key.str())) != 0, std::string(key.str()), "is not a known key");
        }
    }

  private:
    const toml::node* find(const char* key) {
        taken_.insert(key);
        return table_.get(key);
    }

    const toml::table& table_;
    std::string where_;
    std::string& complaint_;
    std::set<std::string> taken_;
};

bool is_bdf(const std::string& text) {
    static const std::string form = "hhhh:hh:hh.d";
    return text.size() == form.size() && std::equal(text.begin(), text.end(), form.begin(), [](char c, char f) {
               return f == 'h' ? std::string("0123456789abcdef").find(c) != std::string::npos
                               : (f == 'd' ? c >= '0' && c <= '7' : c == f);
           });
}

void take_pci(reader& from, pci_function& pci) {
    from.take("bdf", pci.bdf);
    from.take("bridges", pci.bridges);
    from.take("numa", pci.numa);
    from.take("vendor", pci.vendor);
    from.take("device", pci.device);
    from.take("subsystem_vendor", pci.subsystem_vendor);
    from.take("subsystem_device", pci.subsystem_device);
    from.take("revision", pci.revision);
    from.take("class", pci.class_code);
    from.take("link_gt_s", pci.link_gt_s);
    from.take("link_width", pci.link_width);
    from.take("driver", pci.driver);
    from.take("network", pci.network);
    pci.link_width_now = pci.link_width;
    from.require(is_bdf(pci.bdf), "bdf", "is not of the form dddd:bb:dd.f");
    from.require(!pci.bridges.empty() && std::all_of(pci.bridges.begin(), pci.bridges.end(), is_bdf), "bridges",
                 "wants at least one PCI address of the form dddd:bb:dd.f");
}

gcd take_gcd(const toml::table& row, const std::string& where, std::string& complaint) {
    reader from(row, where, complaint);
    gcd g;
    g.pci.vendor = 0x1002;
    g.pci.driver = "amdgpu";
    take_pci(from, g.pci);
    from.take("package", g.package);
    from.take("kfd_name", g.kfd_name);
    from.take("vram_bytes", g.vram_bytes);
    from.take("vram_used_bytes", g.vram_used_bytes);
    from.take("gtt_bytes", g.gtt_bytes);
    from.take("memory_width", g.memory_width);
    from.take("memory_mhz", g.memory_mhz);
    from.take("l1_kib", g.l1_kib);
    from.take("l2_kib", g.l2_kib);
    from.take("kfd", g.kfd);
    from.take("metrics", g.metrics);
    from.take("files", g.files);
    from.take("remove", g.remove);
    from.take("compute_partition", g.compute_partition);
    from.take("memory_partition", g.memory_partition);
    reader link(from.sub_table("cpu_link"), where + ".cpu_link", complaint);
    link.take("type", g.cpu_link.type);
    link.take("weight", g.cpu_link.weight);
    link.take("min_mb_s", g.cpu_link.min_mb_s);
    link.take("max_mb_s", g.cpu_link.max_mb_s);
    link.finish();
    from.finish();
    return g;
}

/// The table of product NAME with its bases below it.
toml::table whole_product(const toml::table& products, const std::string& name, int depth, std::string& complaint) {
    const toml::table* own = products[name].as_table();
    if (own == nullptr || depth > deepest_base) {
        complaint = complaint.empty() ? "there is no product '" + name + "' (or its bases go in a circle)" : complaint;
        return {};
    }
    toml::table whole = *own;
    if (const auto base = (*own)["base"].value<std::string>()) {
        whole = whole_product(products, *base, depth + 1, complaint);
        lay_over(whole, *own);
        whole.erase("base");
    }
    return whole;
}

void take_gcds(reader& top, model& m, std::string& complaint) {
    const toml::table& products = top.sub_table("products");
    int index = 0;
    for (const toml::node& node : top.array("gcds")) {
        const std::string where = "gcds[" + std::to_string(index++) + "]";
        const toml::table* row = node.as_table();
        if (row == nullptr) {
            top.require(false, where, "is no table");
            continue;
        }
        toml::table whole = whole_product(products, (*row)["product"].value_or(std::string()), 0, complaint);
        lay_over(whole, *row);
        whole.erase("product");
        m.gcds.push_back(take_gcd(whole, where, complaint));
        top.require(m.gcds.back().pci.numa < m.processors.numa_nodes(), where, "is on a NUMA node that does not exist");
    }
}

void take_links(reader& top, model& m, std::string& complaint) {
    reader xgmi(top.sub_table("xgmi"), "xgmi", complaint);
    xgmi.take("mb_s_per_link", m.mb_s_per_link);
    xgmi.take("weight_per_hop", m.weight_per_hop);
    m.links.assign(m.gcds.size(), std::vector<int>(m.gcds.size(), 0));
    const toml::array& rows = xgmi.array("links");
    xgmi.require(rows.empty() || rows.size() == m.gcds.size(), "links", "wants one row a GCD");
    for (std::size_t i = 0; i < rows.size() && i < m.gcds.size(); ++i) {
        const toml::array* row = rows[i].as_array();
        xgmi.require(row != nullptr && row->size() == m.gcds.size(), "links", "wants one number a GCD in each row");
        for (std::size_t j = 0; row != nullptr && j < row->size() && j < m.gcds.size(); ++j) {
            m.links[i][j] = (*row)[j].value_or(0);
        }
    }
    for (std::size_t i = 0; i < m.gcds.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            xgmi.require(m.links[i][j] == m.links[j][i], "links", "is not symmetric");
        }
    }
    xgmi.finish();
}

void take_processors(const toml::table& table, processors& cpu, std::string& complaint) {
    reader from(table, "cpu", complaint);
    from.take("vendor", cpu.vendor);
    from.take("model_name", cpu.model_name);
    from.take("family", cpu.family);
    from.take("model", cpu.model);
    from.take("stepping", cpu.stepping);
    from.take("mhz", cpu.mhz);
    from.take("packages", cpu.packages);
    from.take("numa_per_package", cpu.numa_per_package);
    from.take("l3_per_numa", cpu.l3_per_numa);
    from.take("cores_per_l3", cpu.cores_per_l3);
    from.take("threads_per_core", cpu.threads_per_core);
    from.take("l1d_kib", cpu.l1d_kib);
    from.take("l1i_kib", cpu.l1i_kib);
    from.take("l2_kib", cpu.l2_kib);
    from.take("l3_kib", cpu.l3_kib);
    from.take("memory_kib_per_numa", cpu.memory_kib_per_numa);
    from.take("distance_within_package", cpu.distance_within_package);
    from.take("distance_between_packages", cpu.distance_between_packages);
    from.take("memory_only_numa", cpu.memory_only_numa);
    from.require(cpu.cpus() >= 1 && cpu.cpus() <= 1024, "", "describes less than 1 or more than 1024 CPUs");
    from.finish();
}

/// The table of model NAME with its bases below it.
result<toml::table> whole_model(const std::string& directory, const std::string& name, int depth) {
    const bool own_file = depth == 0 && name.find('/') != std::string::npos; // its bases are in DIRECTORY
    const std::string path = own_file ? name : directory + "/" + name + ".toml";
    const bool well_named =
        own_file ||
        (!name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") == std::string::npos);
    if (!well_named || !std::filesystem::exists(path)) {
        return error{error_code::not_found, "there is no model '" + name + "' in " + directory};
    }
    if (depth > deepest_base) {
        return error{error_code::configuration, path + ": the bases go in a circle"};
    }
    toml::table own;
    try {
        own = toml::parse_file(path);
    } catch (const toml::parse_error& bad) {
        return error{error_code::configuration,
                     path + ":" + std::to_string(bad.source().begin.line) + ": " + std::string(bad.description())};
    }
    const auto base = own["base"].value<std::string>();
    if (!base) {
        return own;
    }
    result<toml::table> whole = whole_model(directory, *base, depth + 1);
    if (!whole) {
        return whole.failure().within(path);
    }
    lay_over(*whole, own);
    whole->erase("base");
    return whole;
}

} // namespace

std::vector<int> processors::cpus_of_cores(int first, int count) const {
    std::vector<int> all;
    for (int thread = 0; thread < threads_per_core; ++thread) {
        for (int core = first; core < first + count; ++core) {
            all.push_back(thread * cores() + core);
        }
    }
    return all;
}

result<std::vector<std::string>> model_names(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
        if (entry.path().extension() == ".toml") {
            names.push_back(entry.path().stem().string());
        }
    }
    if (failure) {
        return error{error_code::not_found,
                     "cannot read the directory of models " + directory + ": " + failure.message()};
    }
    std::sort(names.begin(), names.end());
    return names;
}

result<model> read_model(const std::string& directory, const std::string& name) {
    const result<toml::table> whole = whole_model(directory, name, 0);
    if (!whole) {
        return whole.failure();
    }
    std::string complaint;
    reader top(*whole, "", complaint);
    model m;
    m.name = name;
    top.take("description", m.description);
    take_processors(top.sub_table("cpu"), m.processors, complaint);
    take_gcds(top, m, complaint);
    take_links(top, m, complaint);
    int index = 0;
    for (const toml::node& node : top.array("pci")) {
        const std::string where = "pci[" + std::to_string(index++) + "]";
        const toml::table* row = node.as_table();
        top.require(row != nullptr, where, "is no table");
        if (row == nullptr) {
            continue;
        }
        reader from(*row, where, complaint);
        take_pci(from, m.pci.emplace_back());
        from.finish();
    }
    top.take("files", m.files);
    top.take("remove", m.remove);
    top.take("symlinks", m.symlinks);
    top.take("skip_cards", m.skip_cards);
    top.take("skip_kfd_nodes", m.skip_kfd_nodes);
    top.sub_table("performance"); // for the simulated runtime, which reads it from the model's text
    std::vector<std::string> faults;
    top.take("faults", faults);
    for (const std::string& line : faults) {
        m.faults += line + "\n";
    }
    top.finish();
    if (!complaint.empty()) {
        return error{error_code::configuration, directory + "/" + name + ".toml: " + complaint};
    }
    if (const status expanded = expand_partitions(m); !expanded) {
        return expanded.failure().within(directory + "/" + name + ".toml");
    }
    std::ostringstream text;
    text << *whole << "\n";
    m.source = text.str();
    return m;
}

} // namespace sim
