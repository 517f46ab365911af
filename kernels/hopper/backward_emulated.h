// Runs the Hopper backward kernels on the emulated machine.
#pragma once

#include "kernels/base/sample.h"
#include "kernels/hopper/dq_form.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::hopper {

/// `tensors` are host pointers. For a sample, computes dQ of its query tiles and dK and dV of its
/// key tiles, and whatever else their blocks have. The problem may have a pattern, but no strided
/// passes (kernels/strided/passes_emulated.h); a pattern's dQ has a kernel of its own.
EmulationReport emulate_backward(const Problem& problem, const BackwardTensors& tensors,
                                 const EmulationOptions& options, DqForm dq,
                                 const BackwardSample& sample);

}  // namespace sparkbench::hopper
