// For builds without the GPU path.
#include <stdexcept>

#include "harness/run/workers/test_broken_context.h"

namespace sparkbench {

void break_cuda_context() { throw std::runtime_error("there is no CUDA context to break"); }

}  // namespace sparkbench
