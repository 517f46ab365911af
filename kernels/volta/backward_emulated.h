// Runs the Volta backward kernels on the emulated machine.
#pragma once

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::volta {

/// `tensors` are host pointers. A sample's rows have the bits that the whole pass would give them
/// (those of dQ, unless deterministic or in relay at 64 columns, up to the order of its sums);
/// other rows are unspecified.
EmulationReport emulate_backward(Accumulator accumulator, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample);

/// The same in relay, whatever has_relay() says (backward/relay_plan.h), of a mask all of whose
/// rows see a key and as many columns as has_relay() wants. A sample needs slots for all steps.
EmulationReport emulate_backward_relay(Accumulator accumulator, const Problem& problem,
                                       const BackwardTensors& tensors,
                                       const EmulationOptions& options, int slot_bits,
                                       const BackwardSample& sample);

}  // namespace sparkbench::volta
