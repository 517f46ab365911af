#include "harness/candidates/pattern_plan.h"

#include <bit>
#include <chrono>
#include <limits>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/launch/serving_instance.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/strided/pattern_launches.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench {
namespace {

// The part of a tile that a warp may skip (tile/sparse_list.h), if tiles have 64 keys.
constexpr int kKeysOfHalves = 64, kRowsOfHalves = 32;
constexpr std::uint64_t kPairsOfHalf = 32 * 32;

/// For block lists, or without them. Null if there is none.
const KernelInstance* forward_instance(const AttentionKernel& kernel, const Problem& problem,
                                       bool is_sparse) {
  const InstanceWish wish{"fwd",
                          2,
                          kernel.accumulator,
                          problem,
                          std::numeric_limits<std::size_t>::max(),
                          is_sparse ? BlockSource::kBlockSparse : BlockSource::kDense};
  return find_instance(kernel_instances(), wish, [&](const KernelInstance& each) {
    return each.kernel() == kernel.name &&
           volta::wants_blocks(each.short_window, each.head_dim, problem);
  });
}

struct TileCounts {
  std::uint64_t tiles = 0, cut = 0;
  std::uint64_t pairs = 0;  // that warps compute

  void add(const TileCounts& other, std::uint64_t times) {
    tiles += times * other.tiles;
    cut += times * other.cut;
    pairs += times * other.pairs;
  }
};

/// Tiles of the kernel's forward pass.
struct TileShape {
  int rows, keys;
  bool has_halves;  // whether a warp may skip half of a tile
  int seen_rows;    // rows that are skipped together

  explicit TileShape(const KernelInstance& instance)
      : rows(instance.block_rows),
        keys(instance.step_columns / instance.teams),
        has_halves(instance.has_halves),
        seen_rows(instance.seen_rows) {}
};

/// Sets all bits of each group of `bits` bits that has one bit set.
std::uint32_t all_of_each(std::uint32_t groups, int bits) {
  const std::uint32_t whole = (1u << bits) - 1;
  std::uint32_t all = 0;
  for (int first = 0; first < 32; first += bits) {
    if ((groups >> first & whole) != 0) all |= whole << first;
  }
  return all;
}

TileCounts count_listed(const SparseTileLists& lists, int of_union, const TileShape& shape) {
  TileCounts counts;
  std::uint64_t halves = 0;
  const int bits_together = shape.seen_rows / kRowsOfHalves * 2;
  for (int index = 0; index < lists.blocks_of_head(); ++index) {
    const SparseBlock& block = lists.block(of_union, index);
    for (int i = block.first_tile; i < block.first_tile + block.tiles; ++i) {
      const SparseTile& tile = lists.tiles()[i];
      ++counts.tiles;
      counts.cut += is_cut_tile(tile.first) ? 1 : 0;
      const std::uint32_t seen =
          shape.has_halves ? tile.seen : all_of_each(tile.seen, bits_together);
      halves += static_cast<std::uint64_t>(std::popcount(seen));
    }
  }
  const std::uint64_t of_tile =
      std::uint64_t{1} * static_cast<unsigned>(shape.rows) * static_cast<unsigned>(shape.keys);
  counts.pairs = shape.keys == kKeysOfHalves ? halves * kPairsOfHalf : counts.tiles * of_tile;
  return counts;
}

/// Over all heads of a batch entry.
TileCounts count_of_lists(const SparseTileLists& lists, const Problem& problem,
                          const TileShape& shape) {
  TileCounts all;
  for (int head = 0; head < problem.heads; ++head) {
    all.add(count_listed(lists, head % lists.unions(), shape), 1);
  }
  return all;
}

/// Without lists, for whole blocks: the tiles (or halves) that some row of a group sees.
TileCounts count_dense(const Problem& problem, const TileShape& shape) {
  const KeyMask mask = problem.key_mask();
  const int part = shape.has_halves ? shape.keys / 2 : shape.keys;
  TileCounts of_head;
  for (int first = 0; first < problem.seqlen_q; first += shape.rows) {
    const Range rows{first, first + shape.rows};
    const Range some = mask.keys_of_any(rows), all = mask.keys_of_all(rows);
    for (int key = some.begin / shape.keys * shape.keys; key < some.end; key += shape.keys) {
      ++of_head.tiles;
      of_head.cut += all.contains(Range{key, key + shape.keys}) ? 0 : 1;
    }
    for (int row = first; row < first + shape.rows; row += shape.seen_rows) {
      const Range seen = mask.keys_of_any({row, row + shape.seen_rows});
      const int parts = seen.is_empty() ? 0 : ceil_divide(seen.end, part) - seen.begin / part;
      of_head.pairs += std::uint64_t{1} * static_cast<unsigned>(parts) *
                       static_cast<unsigned>(part) * static_cast<unsigned>(shape.seen_rows);
    }
  }
  TileCounts all;
  all.add(of_head, static_cast<std::uint64_t>(problem.heads));
  return all;
}

/// For the kernel without lists that processes a view, or for the one with lists if there is none.
TileShape dense_shape(const AttentionKernel& kernel, const Problem& view, const TileShape& listed) {
  const KernelInstance* const instance = forward_instance(kernel, view, false);
  return instance == nullptr ? listed : TileShape(*instance);
}

TileCounts count_of_passes(const AttentionKernel& kernel, const PatternLists& lists,
                           const Problem& problem, const TileShape& shape) {
  TileCounts all;
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    for (const ViewLaunch& launch : view_launches(problem, pass, TokenHeads::kAdjacent)) {
      const TileCounts counts =
          launch.problem.sparse
              ? count_of_lists(lists[lists.first_of_view(launch.view)], launch.problem, shape)
              : count_dense(launch.problem, dense_shape(kernel, launch.problem, shape));
      all.add(counts, static_cast<std::uint64_t>(launch.problem.batch));
    }
  }
  return all;
}

}  // namespace

bool add_pattern_plan(const AttentionKernel& kernel, const Problem& problem, MaskWork& work) {
  if (!problem.sparse || kernel.listed_instances == nullptr) return false;
  const KernelInstance* const instance = forward_instance(kernel, problem, true);
  if (instance == nullptr) return false;
  const auto start = std::chrono::steady_clock::now();
  const PatternLists lists = sparse_lists(kernel, problem, Pass::kForward, false);
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
  const TileShape shape(*instance);
  TileCounts all;
  if (has_mask_passes(problem)) {
    all = count_of_passes(kernel, lists, problem, shape);
  } else {
    all.add(count_of_lists(lists[0], problem, shape), static_cast<std::uint64_t>(problem.batch));
  }
  work.pairs_executed = all.pairs;
  work.partial_share.reset();
  if (all.tiles > 0) {
    work.partial_share = static_cast<double>(all.cut) / static_cast<double>(all.tiles);
  }
  work.analysis_us = us.count();
  work.metadata_bytes = lists.bytes();
  work.why_no_plan.reset();
  return true;
}

}  // namespace sparkbench
