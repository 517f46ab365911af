#include "harness/model/predict/listed_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "harness/model/predict/block_tiles.h"
#include "harness/model/predict/v100_constants.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/cut_tiles.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/tile/list_blocks.h"

namespace sparkbench {
namespace {

int length_of(const KeyMask& mask, bool is_of_keys) {
  return is_of_keys ? mask.seqlen_k : mask.seqlen_q;
}

/// What a block has of its sequence.
Range own_rows(const KeyMask& mask, bool is_of_keys, int first, int block_rows) {
  return {first, std::min(first + block_rows, length_of(mask, is_of_keys))};
}

/// By how much numbers up to `longest` are shifted to be one of the classes.
int class_shift(int longest) {
  int shift = 0;
  while (longest >> shift >= kLengthClasses) ++shift;
  return shift;
}

/// work_of(mask of the sequence, what the block has of it) for each place of the list.
template <class WorkOf>
std::vector<BlockWork> tiles_of_list(const Problem& problem, const WorkListKind& kind,
                                     WorkOf work_of) {
  std::vector<BlockWork> tiles;
  for (const ListedBlock& block : listed_blocks(problem, kind)) {
    const KeyMask mask = problem.key_mask_of(block.sequence);
    tiles.push_back(work_of(mask, own_rows(mask, kind.is_of_keys, block.first, kind.block_rows)));
  }
  return tiles;
}

/// Warp w of a block is scheduler w % 4's.
int warps_of(const KernelInstance& instance) { return instance.threads / 32; }

/// The parts of a partial tile (SparseTile::seen) on the scheduler that has most of them, and what
/// the others lack to that.
struct TileParts {
  int of_busiest, idle;
};

/// In each group of warps equally many consecutive ones share 32 rows.
TileParts parts_of_tile(const KernelInstance& instance, std::uint32_t seen) {
  const int warps_of_rows = warps_of(instance) * kWarpRowsOfList / instance.block_rows;
  std::array<int, kSchedulers> parts{};
  for (int warp = 0; warp < warps_of(instance); ++warp) {
    const std::uint32_t halves = seen >> (2 * (warp / warps_of_rows)) & kBothHalves;
    parts[static_cast<std::size_t>(warp % kSchedulers)] +=
        instance.has_halves ? std::popcount(halves) : static_cast<int>(halves != 0);
  }
  const int of_busiest = *std::max_element(parts.begin(), parts.end());
  return {of_busiest, kSchedulers * of_busiest - std::accumulate(parts.begin(), parts.end(), 0)};
}

/// What a block walks of a head: steps of one team.
BlockWork steps_of_block(const KernelInstance& instance, const SparseTileLists& lists,
                         const SparseBlock& block) {
  const bool has_parts = most_parts(instance) > 1;
  BlockWork steps;
  for (int i = block.first_tile; i < block.first_tile + block.tiles; ++i) {
    const SparseTile& tile = lists.tiles()[i];
    if (!is_cut_tile(tile.first)) {
      ++steps.full_tiles;
      continue;
    }
    ++steps.cut_tiles;
    if (!has_parts) continue;
    const TileParts parts = parts_of_tile(instance, tile.seen);
    steps.more_parts += std::max(0, parts.of_busiest - 1);
    steps.idle_parts += parts.idle;
  }
  return steps;
}

}  // namespace

std::vector<ListedBlock> listed_blocks(const Problem& problem, const WorkListKind& kind) {
  struct Listed {
    ListedBlock block;
    int length_class;
  };
  const bool is_of_keys = kind.is_of_keys;
  const int block_rows = kind.block_rows;
  const int shift = class_shift(is_of_keys ? problem.seqlen_q : problem.seqlen_k);
  std::vector<Listed> all;
  for (int i = 0; i < problem.batch; ++i) {
    const KeyMask mask = problem.key_mask_of(i);
    const int blocks = ceil_divide(length_of(mask, is_of_keys), block_rows);
    for (int block = 0; block < blocks; ++block) {
      const Range own = own_rows(mask, is_of_keys, block_rows * block, block_rows);
      const Range walked = is_of_keys ? mask.rows_of_any(own) : mask.keys_of_any(own);
      all.push_back({{i, own.begin}, walked.size() >> shift});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) {
    return a.length_class > b.length_class;
  });
  std::vector<ListedBlock> blocks;
  blocks.reserve(all.size());
  for (const Listed& each : all) blocks.push_back(each.block);
  return blocks;
}

std::vector<BlockWork> tiles_of_listed_queries(const KernelInstance& instance,
                                               const Problem& problem) {
  return tiles_of_list(problem, {false, instance.block_rows},
                       [&](const KeyMask& mask, const Range& rows) {
                         // Rows past the last are nobody's, and the kernels' test for a cut tile
                         // knows no last row.
                         const Range of_block{rows.begin, rows.begin + instance.block_rows};
                         return count_tiles(mask.keys_of_any(rows), mask.keys_of_all(of_block),
                                            instance.step_columns);
                       });
}

std::vector<BlockWork> tiles_of_listed_keys(const KernelInstance& instance,
                                            const Problem& problem) {
  return tiles_of_list(
      problem, {true, instance.block_rows}, [&](const KeyMask& mask, const Range& keys) {
        const bool is_whole = keys.size() == instance.block_rows;
        const BlockWork steps =
            count_tiles(mask.rows_of_any(keys), is_whole ? mask.rows_of_all(keys) : Range{0, 0},
                        instance.step_columns / instance.teams);
        return tiles_of_teams(steps, problem.group_size(), instance.teams);
      });
}

int most_parts(const KernelInstance& instance) {
  const bool leaves_out = instance.blocks == BlockSource::kBlockSparse && instance.pass() == "fwd";
  return leaves_out ? warps_of(instance) / kSchedulers * (instance.has_halves ? 2 : 1) : 1;
}

std::vector<BlockWork> tiles_of_pattern(const KernelInstance& instance, const Problem& problem) {
  const bool is_of_keys = instance.pass() == "bwd";
  const SparseTileLists lists(*problem.sparse, list_kind_of(instance));
  std::vector<BlockWork> work, of_unions(static_cast<std::size_t>(lists.unions()));
  const auto steps_of = [&](int head) -> const BlockWork& {
    return of_unions[static_cast<std::size_t>(head % lists.unions())];
  };
  for (int index = 0; index < lists.blocks_of_head(); ++index) {
    for (int i = 0; i < lists.unions(); ++i) {
      of_unions[static_cast<std::size_t>(i)] =
          steps_of_block(instance, lists, lists.block(i, index));
    }
    if (!is_of_keys) {
      for (int head = 0; head < problem.heads; ++head) work.push_back(steps_of(head));
      continue;
    }
    for (int key_head = 0; key_head < problem.key_heads(); ++key_head) {
      BlockWork steps;
      for (int member = 0; member < problem.group_size(); ++member) {
        const BlockWork& of_head = steps_of(key_head * problem.group_size() + member);
        steps.full_tiles += of_head.full_tiles;
        steps.cut_tiles += of_head.cut_tiles;
      }
      BlockWork tiles = tiles_of_teams(steps, 1, instance.teams);
      tiles.more_heads = problem.group_size() - 1;
      work.push_back(tiles);
    }
  }
  return work;
}

}  // namespace sparkbench
