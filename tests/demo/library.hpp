// The demo environment's library. It exists once per GPU target, as a real one would: the same interface, another
// build.
#pragma once

/// The target that this build of the library was made for.
extern "C" __attribute__((visibility("default"))) const char* demo_target();
