// Launches the Volta kernels on the current GPU, for patterns (mask/pattern/).
#pragma once

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/problem/tensors.h"

struct CUstream_st;

namespace sparkbench::volta {

/// Device pointers. `lists` has from `first` on those of the problem and pass for this GPU, and
/// `memory` is where they were copied to, aligned to 16 bytes. `workspace` has the bytes of
/// sparse_workspace_bytes() (sparse_parts.h), and is aligned to 256 bytes. As launch_forward() and
/// launch_backward() otherwise.
void launch_sparse_forward(Accumulator accumulator, const Problem& problem,
                           const ForwardTensors& tensors, void* workspace,
                           const PatternLists& lists, int first, const void* memory,
                           CUstream_st* stream);
void launch_sparse_backward(Accumulator accumulator, const Problem& problem,
                            const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, int first, const void* memory,
                            bool is_deterministic, CUstream_st* stream);

}  // namespace sparkbench::volta
