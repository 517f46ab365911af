#include "harness/devices/pattern_plan.h"

#include <bit>
#include <chrono>

#include "kernels/pattern_lists.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

// The part of a tile that a warp may leave out (tile/sparse_list.h), where tiles have 64 keys.
constexpr int kKeysOfHalves = 64;
constexpr std::uint64_t kPairsOfHalf = 32 * 32;

/// Null when there is none.
const KernelInstance* forward_instance(const AttentionKernel& kernel, const Problem& problem) {
  for (const KernelInstance& each : kernel_instances()) {
    if (each.kernel() == kernel.name && each.pass() == "fwd" && each.is_sparse &&
        each.serves(problem.head_dim) && each.has_dropout == (problem.dropout().threshold != 0)) {
      return &each;
    }
  }
  return nullptr;
}

struct TileCounts {
  std::uint64_t tiles = 0, cut = 0, halves = 0;
};

/// Both bits of each pair of which one is set.
std::uint32_t both_of_each(std::uint32_t pairs) {
  constexpr std::uint32_t kLower = 0x55555555;
  const std::uint32_t any = (pairs | pairs >> 1) & kLower;
  return any | any << 1;
}

TileCounts count_tiles(const SparseTileLists& lists, int of_union, bool has_halves) {
  TileCounts counts;
  for (int index = 0; index < lists.blocks_of_head(); ++index) {
    const SparseBlock& block = lists.block(of_union, index);
    for (int i = block.first_tile; i < block.first_tile + block.tiles; ++i) {
      const SparseTile& tile = lists.tiles()[i];
      ++counts.tiles;
      counts.cut += is_cut_step(tile.step) ? 1 : 0;
      // FP16 sums that are added to FP32 ones leave out whole tiles alone.
      const std::uint32_t seen = has_halves ? tile.seen : both_of_each(tile.seen);
      counts.halves += static_cast<std::uint64_t>(std::popcount(seen));
    }
  }
  return counts;
}

}  // namespace

bool add_pattern_plan(const AttentionKernel& kernel, const Problem& problem, MaskWork& work) {
  if (!problem.sparse || kernel.sparse.lists == nullptr) return false;
  const KernelInstance* const instance = forward_instance(kernel, problem);
  if (instance == nullptr) return false;
  const auto start = std::chrono::steady_clock::now();
  const PatternLists lists = kernel.sparse.lists(problem, Pass::kForward, false);
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
  const SparseTileLists& forward = lists[0];
  const bool has_halves = kernel.accumulator == Accumulator::kFp32;
  TileCounts all;
  for (int head = 0; head < problem.heads; ++head) {
    const TileCounts counts = count_tiles(forward, head % forward.unions(), has_halves);
    all = {all.tiles + counts.tiles, all.cut + counts.cut, all.halves + counts.halves};
  }
  const int tile_keys = instance->step_columns / instance->teams;
  const auto tile_pairs = std::uint64_t{1} * static_cast<unsigned>(instance->block_rows) *
                          static_cast<unsigned>(tile_keys);
  const std::uint64_t of_heads =
      tile_keys == kKeysOfHalves ? all.halves * kPairsOfHalf : all.tiles * tile_pairs;
  work.pairs_executed = static_cast<std::uint64_t>(problem.batch) * of_heads;
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
