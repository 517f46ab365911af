// Runs the chain on the emulated machine.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::acsr {

/// `tensors` are host pointers. Computes the rows of `tiles`, none means all, and others of their
/// classes. Throws std::invalid_argument as MaskRows does and for a head_dim that no instance
/// serves.
EmulationReport emulate_forward(const Problem& problem, const ForwardTensors& tensors,
                                const EmulationOptions& options, std::span<const SampleTile> tiles);

/// The same for a backward pass. P, which a GPU has from the forward pass, is computed first and is
/// not in the report; O and LSE are not read. For a sample, rows that its rows depend on are
/// computed, too. Every pass is deterministic.
EmulationReport emulate_backward(const Problem& problem, const BackwardTensors& tensors,
                                 const EmulationOptions& options, bool is_deterministic,
                                 const BackwardSample& sample);

}  // namespace sparkbench::acsr
