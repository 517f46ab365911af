// The regions of a pass' tensors in the emulator's memory: all that it may read and write, but for
// workspace. An empty tensor, as varlen may have, has none.
#pragma once

#include <vector>

#include "kernels/machine/emulated/memory/global_memory.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

std::vector<GlobalRegion> forward_regions(const Problem& problem, const ForwardTensors& tensors);
std::vector<GlobalRegion> backward_regions(const Problem& problem, const BackwardTensors& tensors);

}  // namespace sparkbench
