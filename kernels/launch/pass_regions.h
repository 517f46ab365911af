// The regions of a pass' tensors in the emulator's memory: all that it may read and write, but for
// workspace. An empty tensor, as varlen may have, has none.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/machine/emulated/memory/global_memory.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

std::vector<GlobalRegion> forward_regions(const Problem& problem, const ForwardTensors& tensors);
std::vector<GlobalRegion> backward_regions(const Problem& problem, const BackwardTensors& tensors);

/// The words that tell whose turn parts of the last region are, as many as it has parts. Launches
/// take them on from each other. `adds_in_any_order`: GlobalRegion's.
void append_turns(std::vector<std::uint32_t>& turns, bool adds_in_any_order,
                  std::vector<GlobalRegion>& all);

}  // namespace sparkbench
