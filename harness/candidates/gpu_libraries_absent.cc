// For a build without CUDA: depends on none of them.
#include "harness/candidates/gpu_libraries.h"

namespace sparkbench {

GpuLibraries gpu_libraries() { return {}; }

}  // namespace sparkbench
