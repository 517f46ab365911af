// For tests: the end of a CUDA context.
#pragma once

namespace sparkbench {

/// Lets a kernel write where no memory is: every later call of this process to the current device
/// gives cudaErrorIllegalAddress. Throws std::runtime_error where the GPU path is not built.
void break_cuda_context();

}  // namespace sparkbench
