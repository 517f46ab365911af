// Runs the Volta kernels on the emulated machine, for packed sequences (kernels/problem/packed.h).
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

namespace sparkbench::volta {

/// Host pointers. Throws std::invalid_argument as check_packed() does. Tiles and sample are as
/// PackedFunctions has them. Of a sample, counts of blocks that did not run go by how much they
/// walk (work_list.h).
EmulationReport emulate_packed_forward(Accumulator accumulator, const Problem& packed,
                                       const PackedLengths& lengths, const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles);
EmulationReport emulate_packed_backward(Accumulator accumulator, const Problem& packed,
                                        const PackedLengths& lengths,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic,
                                        const BackwardSample& sample);

}  // namespace sparkbench::volta
