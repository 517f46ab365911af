// The loops that do a kernel's matrix products, and the way through each that most passes take.
#pragma once

#include <vector>

#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

struct TensorLoop {
  int first, last;        // instructions of the function that bound it in memory
  int instructions;       // on every path, the code that was moved behind the loop included
  std::vector<int> path;  // instructions of one pass
  int tensor_flop;        // of a warp and pass
  int masks;              // mask code on the path
};

/// The innermost loops with tensor instructions. A loop's pass is the path from its head back to it
/// that has the most tensor work. Ties go, in turn, to the least mask code (a tile that needs
/// none), to the fewest branches past mask code, and to the path that takes no forward branch, so
/// that optional code in line (a prefetch) counts. A loop within a pass counts once. The main loop
/// comes first: the one with the most tensor work, the least mask code, the fewest instructions.
std::vector<TensorLoop> find_tensor_loops(const SassFunction& function,
                                          const std::vector<bool>& is_mask);

}  // namespace sparkbench
