// A warp of a warpgroup that has 64 queries: where it stands, and which of a block's tiles of keys
// its warpgroup sees. What the kernels over blocks of queries share.
#pragma once

#include "kernels/hopper/copy_rows.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/walked_tile.h"
#include "kernels/tile/mask.h"

namespace sparkbench::hopper {

template <class Config, class Machine, class Params>
class QueryWarpgroup {
 public:
  using Fragment = typename Config::Layout::Fragment;
  static constexpr int kProductSteps = Config::kBlockN / Config::kProductDepth;
  /// Scores of the warp's 16 rows.
  struct Scores {
    Fragment score[1][Config::kKeySteps];
  };
  /// Operand A of a product with K or V, of which the keys are k.
  struct Halves {
    m16n8k16::FragmentA of[kProductSteps];
  };

  SPARK_DEVICE QueryWarpgroup(Machine& machine, const Params& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        block_(locate_block<Config>(machine, params)),
        warpgroup_(machine.uniform(machine.warp()) / kWarpgroupWarps),
        first_row_(block_.first_row + kWarpRows * machine.warp()) {}

  /// What the block's tile at `place` is to the warpgroup.
  SPARK_DEVICE WalkedTile tile_at(int place) {
    if constexpr (Config::kIsSparse) {
      return load_listed_tile<Config>(machine_, params_, place, warpgroup_);
    } else {
      const int row = block_.first_row + kWarpgroupRows * warpgroup_;
      const Range keys = params_.mask.keys_of_any({row, row + kWarpgroupRows});
      return {place, place < keys.end && place + Config::kBlockN > keys.begin};
    }
  }

  /// S = -inf where the mask hides a key: of tiles that it cuts alone.
  SPARK_DEVICE void mask(int place, const WalkedTile& tile, Scores& scores) {
    const auto hide = [&](int step, int i) { Config::Layout::hide(scores.score[0][step], i); };
    if constexpr (Config::kIsSparse) {
      if (!tile.is_cut()) return;
      constexpr int kRowWords = Config::kBlockN / kSparseWordKeys;
      const int words_of_tile =
          load_of_list(machine_, &tile_of_place<Config::kBlockN>(params_.sparse, place)->words);
      const std::uint32_t* const words =
          params_.sparse.words + (words_of_tile + kRowWords * kWarpRows * machine_.warp());
      hide_unseen<typename Config::Layout, Config::kKeySteps, kRowWords>(machine_, words, hide);
    } else {
      const Range rows{first_row_, first_row_ + kWarpRows};
      if (params_.mask.all_see(rows, {place, place + Config::kBlockN})) return;
      hide_scores<typename Config::Layout, Config::kKeySteps>(params_.mask, machine_.lane(),
                                                              first_row_, place, hide);
    }
  }

  SPARK_DEVICE Machine& machine() { return machine_; }
  SPARK_DEVICE int warpgroup() const { return warpgroup_; }

 protected:
  /// The warpgroup's rows of a tensor to its tile; finish_staging() when all are asked for.
  template <class Tile>
  SPARK_DEVICE void stage_rows(const ChunkedView<const Half>& tensor, Tile& tile) {
    copy_block_rows<Config>(machine_, tile, tensor, params_.sparse.order, block_.batch, block_.head,
                            block_.first_row + kWarpgroupRows * warpgroup_, params_.mask.seqlen_q,
                            params_.head_chunks);
  }
  /// All warps of the block meet.
  SPARK_DEVICE void finish_staging() {
    machine_.commit_copies();
    machine_.template wait_for_copies<0>();
    machine_.fence_async_proxy();
    machine_.barrier_of_warps();
  }

  /// c = A B^T of a warpgroup's rows and a stage's, over all columns.
  SPARK_DEVICE void multiply_rows(std::uint64_t a, std::uint64_t b, Scores& c) {
#pragma unroll
    for (int step = 0; step < Config::kHeadDim / Config::kProductDepth; ++step) {
      machine_.template multiply_async<Config::kBlockN, kColumnsAreK>(
          c.score[0], a + columns_step<typename Config::QueryTile>(step),
          b + columns_step<typename Config::KeyTile>(step), step > 0);
    }
  }
  /// c += A B of a stage's rows as k.
  SPARK_DEVICE void multiply_columns(const Halves& a, std::uint64_t b,
                                     Fragment (&c)[Config::kColumnSteps]) {
#pragma unroll
    for (int step = 0; step < kProductSteps; ++step) {
      machine_.template multiply_async<Config::kHeadDim, kRowsAreK>(c, a.of[step],
                                                                    b + rows_step(step), true);
    }
  }

  /// Waits until no warp of the warpgroup reads its shared rows any more, at the end of the block:
  /// no tile is on its way, so that the warpgroup's first barrier is free for that.
  SPARK_DEVICE void meet_warpgroup() {
    machine_.wait_at_barrier(full_barrier<Config>(0, warpgroup_), kWarpgroupWarps);
  }

  Machine& machine_;
  const Params& params_;
  typename Config::Tiles& tiles_;
  const ForwardBlock block_;
  const int warpgroup_, first_row_;
};

/// Where a stage begins, from the first.
template <class Config>
SPARK_DEVICE std::uint64_t stage_step(int stage) {
  constexpr auto kStep =
      static_cast<std::uint32_t>(descriptor_step(sizeof(typename Config::Tiles::Stage)));
  const std::uint32_t step = static_cast<std::uint32_t>(stage) * kStep;  // in 32 bits: it fits
  return step;
}

template <int kSteps>
SPARK_DEVICE void clear(m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kSteps]) {
#pragma unroll
  for (auto& columns : c) {
#pragma unroll
    for (float& element : columns.element) element = 0.0f;
  }
}

}  // namespace sparkbench::hopper
