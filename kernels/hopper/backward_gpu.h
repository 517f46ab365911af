// Launches the Hopper backward kernels on the current GPU.
#pragma once

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/hopper/dq_form.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

struct CUstream_st;

namespace sparkbench::hopper {

/// Device pointers; `workspace` has the bytes of dense_workspace() (backward_workspace.h) and is
/// aligned to 256 bytes. As launch_forward() otherwise.
void launch_backward(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                     DqForm dq, CUstream_st* stream);

/// The problem has a pattern: `lists` has from `first` on those of keys, and then those of queries.
/// As launch_sparse_forward() otherwise.
void launch_sparse_backward(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, int first, const void* memory,
                            CUstream_st* stream);

/// As PackedFunctions has it.
void launch_packed_backward(const Problem& packed, const PackedLengths& lengths,
                            const BackwardTensors& tensors, void* workspace, DqForm dq,
                            CUstream_st* stream);

}  // namespace sparkbench::hopper
