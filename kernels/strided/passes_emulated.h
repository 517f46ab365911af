// Runs the passes of a pattern (pattern_launches.h) on the emulated machine, whatever kernels they
// are launches of.
#pragma once

#include <functional>
#include <span>

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// A launch over a view: its problem has a pattern, or none.
using EmulateForwardView = std::function<EmulationReport(const Problem&, const ForwardTensors&,
                                                         std::span<const SampleTile>)>;
using EmulateBackwardView =
    std::function<EmulationReport(const Problem&, const BackwardTensors&, const BackwardSample&)>;

/// The problem has_mask_passes(). As emulate_forward() and emulate_backward() (kernel_passes.h)
/// otherwise.
EmulationReport emulate_passes_forward(const Problem& problem, const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles,
                                       const EmulateForwardView& emulate_view);
EmulationReport emulate_passes_backward(const Problem& problem, const BackwardTensors& tensors,
                                        const EmulationOptions& options,
                                        const BackwardSample& sample,
                                        const EmulateBackwardView& emulate_view);

}  // namespace sparkbench
