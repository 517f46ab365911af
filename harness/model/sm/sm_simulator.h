// Cycle by cycle, how an SM of sm_70 executes the paths of its warps: four schedulers that issue an
// instruction a cycle each, scoreboards, dispatch ports, barriers, instruction caches, and the
// memory unit that the schedulers share.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/flow/warp_path.h"
#include "harness/model/sm/timed_code.h"
#include "harness/model/sm/wait_reason.h"

namespace sparkbench {

using Cycle = std::int64_t;

/// Where the cycle of an instruction's issue is wanted.
struct PathMark {
  int block, warp, position;  // in SmWork::blocks, the block, the path
  int pause = 0;              // cycles for which the warp waits behind it, beyond its stall count
};

struct SmWork {
  /// Blocks of one kernel, with equally many warps. Each outlives the simulation; one may occur
  /// several times. Warp w of a resident block b goes to scheduler (b * warps + w) % 4.
  std::vector<const BlockPaths*> blocks;
  /// When each of the blocks starts that the SM holds at once. Each other block starts
  /// when all warps of the one whose slot it takes have issued their last instruction.
  std::vector<int> start_offsets;
  /// Each warp begins its path anew, without end: for a loop's steady state. It is measured from
  /// when the warps together have finished `warm` times their number of passes, through `measured`
  /// times as many more. There is no queue of blocks then.
  bool repeats = false;
  int warm = 2;
  int measured = 8;
  std::vector<PathMark> marks;  // of a run that does not repeat
};

/// Resident blocks that start `offset` cycles after one another.
std::vector<int> staggered_starts(int blocks, int offset);

struct BlockTimes {
  Cycle start, end;
};

struct InstructionWaits {
  std::int64_t issues = 0;
  WaitTimes waits;  // beyond the stall count of what came before
};

struct SmResult {
  Cycle cycles;  // of the window, or until the last warp's end
  double
      iterations;   // passes of a warp in these cycles, the mean over the warps; 1 without repeats
  WaitTimes waits;  // of all warps
  std::vector<InstructionWaits> instructions;  // as in the TimedCode
  std::vector<BlockTimes> blocks;              // of a run that does not repeat
  std::vector<Cycle> marks;                    // the issue of each SmWork::marks

  double cycles_per_pass() const { return static_cast<double>(cycles) / iterations; }
};

/// Throws std::runtime_error for warps that wait for each other, and std::invalid_argument for work
/// that is none.
SmResult simulate(const TimedCode& code, const SmWork& work);

}  // namespace sparkbench
