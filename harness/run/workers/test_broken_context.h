// For tests: destroys a CUDA context.
#pragma once

namespace sparkbench {

/// Launches a kernel that writes to invalid memory: every later call of this process to the current
/// device returns cudaErrorIllegalAddress. Throws std::runtime_error if the GPU path is not built.
void break_cuda_context();

}  // namespace sparkbench
