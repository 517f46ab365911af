// Runs the Volta forward kernel on the emulated machine.
#pragma once

#include <array>
#include <span>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/tensors.h"
#include "kernels/volta/forward_params.h"

namespace sparkbench::volta {

/// Query rows of the tiles that emulate_forward takes.
inline constexpr int kForwardTileRows = 128;

/// `tensors` are host pointers. `tiles` names the query tiles to compute as {tile, head, batch},
/// tile t being rows kForwardTileRows * t and on; empty means all of them. What the kernel's blocks
/// (forward_block_rows) hold besides these tiles is computed too; other rows are neither read nor
/// written.
EmulationReport emulate_forward(ForwardAccumulators accumulators, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const std::array<int, 3>> tiles);

}  // namespace sparkbench::volta
