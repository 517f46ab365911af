// Launches the Volta kernels on the current GPU, for packed sequences (kernels/problem/packed.h).
#pragma once

#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

struct CUstream_st;

namespace sparkbench::volta {

/// Device pointers, `workspace` of packed_forward_workspace_bytes() or
/// packed_backward_workspace_bytes() aligned to 256 bytes, `stream` a cudaStream_t. Asynchronous,
/// and no host waits for the lengths; a launch that the driver refuses throws std::runtime_error.
/// Throws std::invalid_argument as check_packed() does.
void launch_packed_forward(Accumulator accumulator, const Problem& packed,
                           const PackedLengths& lengths, const ForwardTensors& tensors,
                           void* workspace, CUstream_st* stream);
void launch_packed_backward(Accumulator accumulator, const Problem& packed,
                            const PackedLengths& lengths, const BackwardTensors& tensors,
                            void* workspace, bool is_deterministic, CUstream_st* stream);

}  // namespace sparkbench::volta
