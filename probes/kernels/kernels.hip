// All kernels as one translation unit: one code object per processor.
#include "copy.hip"
#include "fma64.hip"
#include "pattern.hip"
