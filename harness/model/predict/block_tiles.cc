#include "harness/model/predict/block_tiles.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/base/ceil_divide.h"

namespace sparkbench {
namespace {

int saturated(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

}  // namespace

BlockWork count_tiles(const Range& hull, const Range& core, int step) {
  if (hull.is_empty()) return {};
  const int first = hull.begin / step;
  const int end = ceil_divide(hull.end, step);
  const int first_full = std::max(first, ceil_divide(core.begin, step));
  const int end_full = std::min(end, core.end / step);
  const int full = core.is_empty() ? 0 : std::max(0, end_full - first_full);
  return {full, end - first - full};
}

std::vector<BlockWork> tiles_of_query_blocks(const KernelInstance& instance,
                                             const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  std::vector<BlockWork> blocks;
  for (int row = 0; row < problem.seqlen_q; row += instance.block_rows) {
    const Range rows{row, row + instance.block_rows};
    blocks.push_back(
        count_tiles(mask.keys_of_any(rows), mask.keys_of_all(rows), instance.step_columns));
  }
  return blocks;
}

std::vector<BlockWork> tiles_of_key_blocks(const KernelInstance& instance, const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  std::vector<BlockWork> blocks;
  for (int key = 0; key < problem.seqlen_k; key += instance.block_rows) {
    const int last = key + instance.block_rows - 1;
    const Range seen_by_some{
        mask.rows(key).begin,
        std::min(problem.seqlen_q, saturated(std::int64_t{last} - mask.begin_offset + 1))};
    // A step past the last query is no cut one: the kernel's test knows no such end.
    const Range seen_by_all{mask.rows(last).begin,
                            saturated(std::int64_t{key} - mask.begin_offset + 1)};
    const bool is_ragged = last >= problem.seqlen_k;
    const int step = instance.step_columns / instance.teams;
    const BlockWork steps = count_tiles(seen_by_some, is_ragged ? Range{0, 0} : seen_by_all, step);
    BlockWork work = tiles_of_teams(steps, problem.group_size(), instance.teams);
    if (instance.halves_steps) {
      const int middle = key + instance.block_rows / 2;
      // Steps see both from the first with a row that sees the last half to the last with one that
      // sees the first.
      const int first = std::max(seen_by_some.begin, mask.rows(middle).begin);
      const int end =
          std::min(seen_by_some.end, saturated(std::int64_t{middle} - mask.begin_offset));
      const std::int64_t whole =
          middle < problem.seqlen_k ? std::max(0, ceil_divide(end, step) - first / step) : 0;
      const std::int64_t halves = steps.full_tiles + steps.cut_tiles - whole;
      // The team with the fewest of them says when the block ends.
      const std::int64_t of_each_team = problem.group_size() * halves / instance.teams;
      work.more_parts = instance.teams * (work.cut_tiles - std::min(work.cut_tiles, of_each_team));
    }
    blocks.push_back(work);
  }
  return blocks;
}

BlockWork tiles_of_teams(const BlockWork& steps_of_head, int heads, int teams) {
  const auto in_turns = [=](std::int64_t of_head) { return (heads * of_head + teams - 1) / teams; };
  const std::int64_t tiles = in_turns(steps_of_head.full_tiles + steps_of_head.cut_tiles);
  const std::int64_t cut = std::min(tiles, in_turns(steps_of_head.cut_tiles));
  return {tiles - cut, cut, heads - 1};
}

}  // namespace sparkbench
