// Runs the passes of a pattern (kernels/pattern_launches.h) on the emulated machine.
#pragma once

#include <span>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/sample.h"
#include "kernels/tensors.h"
#include "kernels/volta/forward_params.h"

namespace sparkbench::volta {

/// The problem has_mask_passes(). As emulate_forward() and emulate_backward() otherwise.
EmulationReport emulate_passes_forward(ForwardAccumulators accumulators, const Problem& problem,
                                       const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles);
EmulationReport emulate_passes_backward(Accumulator accumulator, const Problem& problem,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic,
                                        const BackwardSample& sample);

}  // namespace sparkbench::volta
