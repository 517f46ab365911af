// Runs the Volta forward kernel on the emulated machine.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::volta {

/// `tensors` are host pointers. `tiles` names the query tiles to compute; empty means all of them.
/// What the kernel's blocks (forward_block_rows) hold besides these tiles is computed too; other
/// rows are neither read nor written.
EmulationReport emulate_forward(Accumulator accumulator, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const SampleTile> tiles);

}  // namespace sparkbench::volta
