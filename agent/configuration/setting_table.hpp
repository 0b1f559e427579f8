// The table that drives reading, checking and printing of settings; internal to them.
#pragma once

#include "configuration/document.hpp"
#include "configuration/settings.hpp"

namespace amd_gpu {

struct setting_row {
    setting_key key;
    /// Takes a value; false when it is not of the key's type or out of its range.
    bool (*read)(settings& to, const setting_key& key, const toml_value& from);
};

/// All settings, table by table.
const std::vector<setting_row>& setting_rows();

} // namespace amd_gpu
