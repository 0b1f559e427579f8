// Slurm's plugin interface for C++. The header declares the callbacks outside its own extern "C", and SPANK_PLUGIN
// makes constants that C++ would keep to itself; both are put right here.
#pragma once

extern "C" {
#include <slurm/spank.h>
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
}
