// Runs the chain on the emulated machine.
#pragma once

#include <span>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/sample.h"
#include "kernels/tensors.h"

namespace sparkbench::acsr {

/// `tensors` are host pointers. Computes the rows of `tiles`, none means all, and others of their
/// classes. Throws std::invalid_argument as MaskRows does and for a head_dim that no instance
/// serves.
EmulationReport emulate_forward(const Problem& problem, const ForwardTensors& tensors,
                                const EmulationOptions& options, std::span<const SampleTile> tiles);

}  // namespace sparkbench::acsr
