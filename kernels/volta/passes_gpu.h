// Launches the passes of a pattern (kernels/pattern_launches.h) on the current GPU.
#pragma once

#include "kernels/pattern_lists.h"
#include "kernels/tensors.h"
#include "kernels/volta/forward_params.h"

struct CUstream_st;

namespace sparkbench::volta {

/// The problem has_mask_passes(). Device pointers; `workspace` has the bytes of passes_workspace()
/// (passes_workspace.h) and is aligned to 256 bytes. As launch_sparse_forward() and
/// launch_sparse_backward() otherwise.
void launch_passes_forward(ForwardAccumulators accumulators, const Problem& problem,
                           const ForwardTensors& tensors, void* workspace,
                           const PatternLists& lists, const void* memory, CUstream_st* stream);
void launch_passes_backward(Accumulator accumulator, const Problem& problem,
                            const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, const void* memory, bool is_deterministic,
                            CUstream_st* stream);

}  // namespace sparkbench::volta
