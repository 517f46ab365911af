// Launches the Volta backward kernels on the current GPU.
#pragma once

#include "kernels/problem/tensors.h"
#include "kernels/volta/backward/params.h"

struct CUstream_st;

namespace sparkbench::volta {

/// Device pointers, `workspace` of backward_workspace_bytes() aligned to 256 bytes, `stream` a
/// cudaStream_t. Asynchronous; a launch that the driver refuses throws std::runtime_error.
/// Deterministic: two runs on the same tensors give the same bits of dQ, dK and dV; else the last
/// bits of dQ may differ.
void launch_backward(Accumulator accumulator, const Problem& problem,
                     const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                     CUstream_st* stream);

/// The row-wise kernels before and after the products (backward/rows.h).
void launch_statistics(Accumulator accumulator, const Problem& problem,
                       const BackwardParams& params, CUstream_st* stream);
void launch_round_dq(Accumulator accumulator, const Problem& problem, const BackwardParams& params,
                     CUstream_st* stream);

}  // namespace sparkbench::volta
