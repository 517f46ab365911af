// Runs the Volta forward kernel on the emulated machine.
#pragma once

#include <array>
#include <span>

#include "kernels/attention.h"
#include "kernels/machine/emulated/launch.h"

namespace sparkbench::volta {

/// `tensors` are host pointers. `tiles` names the query tiles to compute as {tile, head, batch},
/// tile t being rows kForwardBlockM * t and on; empty means all of them. Rows of other tiles are
/// neither read nor written.
EmulationReport emulate_forward(Accumulator accumulator, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const std::array<int, 3>> tiles);

}  // namespace sparkbench::volta
