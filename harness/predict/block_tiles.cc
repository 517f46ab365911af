#include "harness/predict/block_tiles.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/ceil_divide.h"

namespace sparkbench {
namespace {

int saturated(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

/// Steps of `columns` queries, of those that see a key of a block, that see none of one half of it.
std::int64_t half_steps(const KernelInstance& instance, const KeyMask& mask, int first_key,
                        const Range& seen_by_some, int columns) {
  const int middle = first_key + instance.block_rows / 2;
  std::int64_t steps = 0;
  for (int query = seen_by_some.begin / columns * columns; query < seen_by_some.end;
       query += columns) {
    steps += mask.end(query + columns - 1) <= middle || mask.begin(query) >= middle ? 1 : 0;
  }
  return steps;
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
      const std::int64_t halves =
          problem.group_size() * half_steps(instance, mask, key, seen_by_some, step);
      // The team with the fewest of them says when the block ends.
      const std::int64_t of_each_team = halves / instance.teams;
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
