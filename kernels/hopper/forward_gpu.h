// Launches the Hopper forward kernels on the current GPU.
#pragma once

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/hopper/row_form.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

struct CUstream_st;

namespace sparkbench::hopper {

/// `tensors` are device pointers, `stream` a cudaStream_t. Asynchronous; a launch that the driver
/// refuses throws std::runtime_error. Needs compute capability 9.0. Throws std::invalid_argument
/// where no kernel has rows in such a form (row_form.h).
void launch_forward(const Problem& problem, const ForwardTensors& tensors, RowForm form,
                    CUstream_st* stream);

/// The problem has a pattern. `lists` has from `first` on those of the problem, and `memory` is
/// where they were copied to, aligned to 16 bytes; `workspace` has room for
/// take_forward_parts() (kernels/block_sparse/pattern_parts.h), and is aligned to 256 bytes.
void launch_sparse_forward(const Problem& problem, const ForwardTensors& tensors, void* workspace,
                           const PatternLists& lists, int first, const void* memory,
                           CUstream_st* stream);

/// As PackedFunctions has it.
void launch_packed_forward(const Problem& packed, const PackedLengths& lengths,
                           const ForwardTensors& tensors, void* workspace, CUstream_st* stream);

}  // namespace sparkbench::hopper
