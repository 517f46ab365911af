// When a launch ends, by the clock of the SMs: blocks start in the launch's order, each in the
// first place that becomes free, and those that share an SM slow each other down.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/predict/cycles_file.h"

namespace sparkbench {

/// A block's work between its prologue and its epilogue, over all heads that it visits. The model
/// puts partial tiles last, and the work between heads after them: their order matters only while
/// an SM is not full.
struct BlockWork {
  std::int64_t full_tiles = 0, cut_tiles = 0;
  std::int64_t more_heads = 0;  // than one
  std::int64_t more_parts = 0;  // of cut tiles, each, than one on the busiest scheduler
  std::int64_t idle_parts = 0;  // of cut tiles, that each other scheduler lacks to it

  bool operator==(const BlockWork&) const = default;
};

/// A launch: the blocks of one head in their order, and so many heads one after the other; or, of
/// packed sequences, each block of all heads before the next. Where a block walks all query heads
/// of a key head, heads are key heads.
struct BlockGrid {
  std::vector<BlockWork> of_head;
  std::uint64_t heads = 1;
  bool is_head_fastest = false;
};

struct ScheduledCycles {
  double until_end = 0;  // of the last block
  double evenly = 0;     // if the same work kept every place of every SM busy to the end
};

/// `stages[r - 1]` are the cycles of an SM with r blocks, of which it has room for as many as there
/// are entries; a block that shares its SM with r - 1 others takes these. A place goes to the next
/// block; of several that become free at once, to the one on the emptiest SM. Neither is empty.
///
/// Grids of more than 100,000 blocks are followed for as many heads as that makes, at least one.
/// The others are added at the rate of full SMs, which is exact but for the phase of the last wave.
ScheduledCycles schedule_blocks(const BlockGrid& grid, const std::vector<StageCycles>& stages,
                                int sms);

}  // namespace sparkbench
