// Launches the passes of a pattern (pattern_launches.h) on the current GPU, whatever kernels they
// are launches of.
#pragma once

#include <functional>

#include "kernels/problem/tensors.h"
#include "kernels/strided/pattern_launches.h"

struct CUstream_st;

namespace sparkbench {

/// A launch over a view, by its own tensors and a kernel's own part of the workspace.
using LaunchForwardView =
    std::function<void(const ViewLaunch&, const ForwardTensors&, void* workspace)>;
using LaunchBackwardView =
    std::function<void(const ViewLaunch&, const BackwardTensors&, void* workspace)>;

/// The problem has_mask_passes(). Device pointers; `workspace` has the bytes of `layout` and is
/// aligned to 256 bytes.
void launch_passes_forward(const Problem& problem, const ForwardTensors& tensors, void* workspace,
                           const PassesWorkspace& layout, const LaunchForwardView& launch_view,
                           CUstream_st* stream);
void launch_passes_backward(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                            const PassesWorkspace& layout, const LaunchBackwardView& launch_view,
                            CUstream_st* stream);

}  // namespace sparkbench
