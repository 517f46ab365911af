// Runs the Volta backward kernels on the emulated machine.
#pragma once

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/sample.h"
#include "kernels/tensors.h"

namespace sparkbench::volta {

/// `tensors` are host pointers. A sample's rows have the bits that the whole pass would give them
/// (those of dQ, unless deterministic, up to the order of its sums); other rows are unspecified.
EmulationReport emulate_backward(Accumulator accumulator, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample);

}  // namespace sparkbench::volta
