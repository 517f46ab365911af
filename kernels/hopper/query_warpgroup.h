// A warp of a warpgroup that has 64 queries: its coordinates, and which of a block's tiles of keys
// its warpgroup sees. Shared by the kernels over blocks of queries.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/block_roles.h"
#include "kernels/hopper/key_loader.h"
#include "kernels/hopper/output_rows.h"
#include "kernels/hopper/tile/swizzled_panels.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

template <class Config, class Machine, class Params>
class QueryWarpgroup {
 public:
  using Fragment = typename Config::Layout::Fragment;
  /// Scores of the warp's 16 rows and kKeys keys.
  template <int kKeys>
  struct ScoresOf {
    Fragment score[1][kKeys / Config::Layout::kStepKeys];
  };
  using Scores = ScoresOf<Config::kBlockN>;
  /// Operand A of a product with K or V, whose k dimension is the keys.
  struct Halves {
    m16n8k16::FragmentA of[Config::kBlockN / Config::kProductDepth];
  };

  /// `queries` is the ring stage of the item's queries.
  SPARK_DEVICE QueryWarpgroup(Machine& machine, const Params& params,
                              const RowsRing<Config>& queries)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        queries_(queries),
        block_(locate_block<Config>(machine, params)),
        mask_(mask_of_block<Config>(machine, params)),
        warpgroup_(machine.uniform(machine.warp()) / kWarpgroupWarps),
        first_row_(block_.first_row + kWarpRows * machine.warp()) {}

  /// The block's tile at `place`, as the warpgroup sees it.
  SPARK_DEVICE WalkedTile tile_at(int place) {
    if constexpr (kIsSparse<Config>) {
      return load_listed_tile<Config>(machine_, params_, place, warpgroup_);
    } else {
      const Range rows = rows_of_warpgroup(), keys = mask_.keys_of_any(rows);
      const auto sees = [&](int begin, int end) {
        return rows.begin < mask_.seqlen_q && begin < keys.end && end > keys.begin;
      };
      const int end = place + Config::kBlockN;
      if constexpr (Config::kHalvesTiles) {
        const int middle = place + Config::kBlockN / 2;
        return {place, (sees(place, middle) ? WalkedTile::kLower : 0) |
                           (sees(middle, end) ? WalkedTile::kUpper : 0)};
      }
      return {place, sees(place, end) ? WalkedTile::kBoth : 0};
    }
  }

  /// Keys that every existing row of the warpgroup sees. Empty for patterns, whose lists tell full
  /// tiles.
  SPARK_DEVICE Range uncut_keys() const {
    const Range rows = rows_of_warpgroup();
    if (kIsSparse<Config> || rows.begin >= mask_.seqlen_q) return {0, 0};
    return SPARK_PLANTED(
        kKeysBehindEndVisible, mask_.keys_of_all(rows),
        (Range{mask_.keys_of_all(rows).begin,
               mask_.keys_of_all(rows).end +
                   (mask_.keys_of_all(rows).end == mask_.seqlen_k ? Config::kBlockN - 1 : 0)}));
  }

  /// S = -inf where the mask hides a key, of the keys from `place` on; only for partial tiles.
  template <int kKeys>
  SPARK_DEVICE void mask(int place, const WalkedTile& tile, ScoresOf<kKeys>& scores) {
    constexpr int kKeySteps = kKeys / Config::Layout::kStepKeys;
    const auto hide = [&](int step, int i) { Config::Layout::hide(scores.score[0][step], i); };
    if constexpr (kIsSparse<Config>) {
      static_assert(kKeys == Config::kBlockN, "lists tell of whole tiles");
      if (!tile.is_cut()) return;
      constexpr int kRowWords = Config::kBlockN / kSparseWordKeys;
      const int words_of_tile =
          load_of_list(machine_, &tile_of_place<Config::kBlockN>(params_.sparse, place)->words);
      const std::uint32_t* const words =
          params_.sparse.words + (words_of_tile + kRowWords * kWarpRows * machine_.warp());
      hide_unseen<typename Config::Layout, kKeySteps, kRowWords>(machine_, words, hide);
    } else {
      const Range rows{first_row_, first_row_ + kWarpRows};
      if (mask_.all_see(rows, {place, place + kKeys})) return;
      hide_outside<typename Config::Layout, kKeySteps, 1>(
          mask_, mask_.keys_of_all(rows), machine_.lane(), [&](int) { return first_row_; }, place,
          [&](int, int step, int i) { hide(step, i); });
    }
  }

  // Waiting for, and releasing to, the loader.
  SPARK_DEVICE void wait_for_queries() {
    machine_.wait_at_mbarrier(&tiles_.barriers.q_full[queries_.place()][warpgroup_],
                              queries_.full_parity());
  }
  /// The stage has been refilled since.
  SPARK_DEVICE void release_queries() {
    machine_.fence_async_proxy();
    machine_.arrive_at_mbarrier(&tiles_.barriers.q_empty[queries_.place()][warpgroup_]);
  }
  SPARK_DEVICE void wait_for_keys(const StageRing<Config>& ring) {
    machine_.wait_at_mbarrier(&tiles_.barriers.k_full[ring.place()], ring.full_parity());
  }
  SPARK_DEVICE void wait_for_values(const StageRing<Config>& ring) {
    machine_.wait_at_mbarrier(&tiles_.barriers.v_full[ring.place()], ring.full_parity());
  }
  SPARK_DEVICE void release_keys(int stage) {
    machine_.arrive_at_mbarrier(&tiles_.barriers.k_empty[stage]);
  }
  SPARK_DEVICE void release_values(int stage) {
    machine_.arrive_at_mbarrier(&tiles_.barriers.v_empty[stage]);
  }

  SPARK_DEVICE Machine& machine() { return machine_; }

 protected:
  SPARK_DEVICE Range rows_of_warpgroup() const {
    const int first = block_.first_row + kWarpgroupRows * warpgroup_;
    return {first, first + kWarpgroupRows};
  }
  /// The warpgroup's rows of an item's.
  template <class Rows>
  SPARK_DEVICE auto& rows_of(Rows& rows) {
    return rows[queries_.place()][warpgroup_];
  }

  /// Where the warp's rows of an output go.
  SPARK_DEVICE OutputRows<Config, Machine> output_rows() {
    return {machine_,
            params_.sparse,
            block_.head,
            block_.first_row,
            block_.first_q + first_row_,
            block_.first_q + mask_.seqlen_q};
  }

  /// c = A B^T, a warpgroup's rows times a stage's, over all columns.
  template <int kKeys>
  SPARK_DEVICE void multiply_rows(std::uint64_t a, std::uint64_t b, ScoresOf<kKeys>& c) {
#pragma unroll
    for (int step = 0; step < Config::kHeadDim / Config::kProductDepth; ++step) {
      machine_.template multiply_async<typename Config::Element, kKeys, kColumnsAreK>(
          c.score[0], a + columns_step<typename Config::QueryTile>(step),
          b + columns_step<typename Config::KeyTile>(step), step > 0);
    }
  }
  /// c += A B with a stage's rows as k, for keys [kFirst, kEnd).
  template <int kFirst = 0, int kEnd = Config::kBlockN>
  SPARK_DEVICE void multiply_columns(const Halves& a, std::uint64_t b,
                                     Fragment (&c)[Config::kColumnSteps]) {
#pragma unroll
    for (int step = kFirst / Config::kProductDepth; step < kEnd / Config::kProductDepth; ++step) {
      machine_.template multiply_async<typename Config::Element, Config::kHeadDim, kRowsAreK>(
          c, a.of[step], b + rows_step(step), true);
    }
  }

  /// Barrier of the warpgroup's warps: then none reads its shared rows any more.
  SPARK_DEVICE void meet_warpgroup() { machine_.wait_at_barrier(1 + warpgroup_, kWarpgroupWarps); }

  Machine& machine_;
  const Params& params_;
  typename Config::Tiles& tiles_;
  const RowsRing<Config>& queries_;
  const ForwardBlock block_;
  const SequenceMask<Config> mask_;
  const int warpgroup_, first_row_;
};

/// Where a stage begins, relative to the first.
template <class Config>
SPARK_DEVICE std::uint64_t stage_step(int stage) {
  constexpr auto kStep =
      static_cast<std::uint32_t>(descriptor_step(sizeof(typename Config::Tiles::Stage)));
  const std::uint32_t step = static_cast<std::uint32_t>(stage) * kStep;  // in 32 bits: it fits
  return step;
}

}  // namespace sparkbench::hopper
