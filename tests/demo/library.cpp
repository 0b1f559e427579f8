// libdemo.so: knows which target it was built for (DEMO_TARGET, from the build) and nothing else.
#include "library.hpp"

const char* demo_target() {
    return DEMO_TARGET;
}
