// An instance's cycles from its machine code: blocks of problems that differ in the tiles of one
// kind are followed through the code and timed on the modelled SM.
//
// Each figure is what its name says only in sum, since a block's stages overlap, and so do blocks:
//   full tile   what a block takes longer for a tile more, each SM place taken by such a block
//   cut tile    the same for a tile that the diagonal cuts, in place of a full one; where warps
//               leave out parts (instance_cycles.h), for one of which each scheduler has one part
//   more part   what such a tile takes longer if schedulers have all parts of it, for each of these
//               beyond the first
//   next head   what a block takes longer for the tiles of several heads than for as many of one,
//               for each head beside the first
//   prologue, epilogue   the rest of what a block of few tiles takes in a row of such blocks, one
//               after the other in each place; shared out as the time before the first product is
//               to that behind the last
// With several blocks or teams each figure is the mean over offsets between their starts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/model/predict/cycles_file.h"
#include "harness/model/sass/sass_listing.h"
#include "harness/model/sm/sm_simulator.h"
#include "kernels/launch/kernel_instance.h"

namespace sparkbench {

/// 16 hexadecimal digits of the instructions with their control bits.
std::string code_hash(const SassFunction& function);

/// Teams of a block start together. So that they are out of step, as an instance's cycles have
/// them, each pauses at its first product `offset` cycles longer than the one before. Teams are
/// consecutive warps.
std::vector<PathMark> late_teams(const TimedCode& code, std::span<const BlockPaths* const> blocks,
                                 int teams, int offset);

/// `function` is the instance's for sm_70, of which an SM holds `blocks_per_sm`, at least 1.
InstanceCycles measure_instance(const SassFunction& function, const KernelInstance& instance,
                                int blocks_per_sm);

}  // namespace sparkbench
