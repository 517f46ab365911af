// Launches the Volta forward kernel on the current GPU.
#pragma once

#include "kernels/problem/tensors.h"

struct CUstream_st;

namespace sparkbench::volta {

/// `tensors` are device pointers, `stream` a cudaStream_t. Asynchronous; a launch that the driver
/// refuses throws std::runtime_error. Needs compute capability 7.0 or later.
void launch_forward(Accumulator accumulator, const Problem& problem, const ForwardTensors& tensors,
                    CUstream_st* stream);

}  // namespace sparkbench::volta
