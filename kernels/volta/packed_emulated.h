// Runs the Volta kernels on the emulated machine, for packed sequences (kernels/packed.h).
#pragma once

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/packed.h"
#include "kernels/tensors.h"
#include "kernels/volta/forward_params.h"

namespace sparkbench::volta {

/// Host pointers. Throws std::invalid_argument as check_packed() does.
EmulationReport emulate_packed_forward(ForwardAccumulators accumulators, const Problem& packed,
                                       const PackedLengths& lengths, const ForwardTensors& tensors,
                                       const EmulationOptions& options);
EmulationReport emulate_packed_backward(Accumulator accumulator, const Problem& packed,
                                        const PackedLengths& lengths,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic);

}  // namespace sparkbench::volta
