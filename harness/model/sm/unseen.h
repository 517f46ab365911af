// What code does that the SM model does not see, as notes of its prediction: stacks larger than L1,
// gathers, warps with roles of their own. Costs are given as the constants of the next level of
// memory, which `--set` and `--sensitivity` take.
#pragma once

#include <set>
#include <string>

#include "harness/model/flow/warp_path.h"
#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

/// Notes on a path that all `warps` of an SM take. `repeats`: it is a loop's, and what it loads in
/// one pass may be an address in the next.
std::set<std::string> notes_of_unseen(const SassFunction& function, const WarpPath& path, int warps,
                                      bool repeats);

}  // namespace sparkbench
