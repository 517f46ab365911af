// Runs the Hopper forward kernels on the emulated machine.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/hopper/row_form.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::hopper {

/// `tensors` are host pointers. `tiles` names the query tiles to compute; empty means all of them.
/// Other rows of their blocks are computed too; all others are neither read nor written. The
/// problem may have a pattern, but no strided passes (kernels/strided/passes_emulated.h); rows of a
/// pattern have a form of their own.
EmulationReport emulate_forward(const Problem& problem, const ForwardTensors& tensors,
                                const EmulationOptions& options, RowForm form,
                                std::span<const SampleTile> tiles);

}  // namespace sparkbench::hopper
