// Runs the Volta kernels for patterns (mask/pattern/) on the emulated machine.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::volta {

/// The problem has a pattern. As emulate_forward() and emulate_backward() otherwise.
EmulationReport emulate_sparse_forward(Accumulator accumulator, const Problem& problem,
                                       const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles);
EmulationReport emulate_sparse_backward(Accumulator accumulator, const Problem& problem,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic,
                                        const BackwardSample& sample);

}  // namespace sparkbench::volta
