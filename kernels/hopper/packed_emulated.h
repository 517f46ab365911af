// Varlen (kernels/problem/packed.h) in the Hopper kernels, on the emulated machine.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/hopper/dq_form.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::hopper {

// As PackedFunctions has them.
EmulationReport emulate_packed_forward(const Problem& packed, const PackedLengths& lengths,
                                       const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles);
EmulationReport emulate_packed_backward(const Problem& packed, const PackedLengths& lengths,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, DqForm dq,
                                        const BackwardSample& sample);

}  // namespace sparkbench::hopper
