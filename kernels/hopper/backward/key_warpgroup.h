// A warp of a warpgroup that has 64 keys of a block: its part in dK and dV. Lines are those of
// kernel.h.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/backward/query_loader.h"
#include "kernels/hopper/backward/transposed_dropout.h"
#include "kernels/hopper/query_warpgroup.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

/// A warp of a warpgroup that has 64 keys.
template <class Config, class Machine>
class KeyWarpgroup {
 public:
  using Element = typename Config::Element;
  using Layout = typename Config::Layout;
  using Fragment = typename Layout::Fragment;
  static constexpr int kSteps = Config::kQuerySteps, kProductSteps = Config::kStep / 16;
  struct Scores {
    Fragment score[kSteps];
  };
  struct Halves {
    m16n8k16::FragmentA of[kProductSteps];
  };
  /// Values of the two queries of each step that a lane has.
  struct OfQueries {
    float of[kSteps][2];
  };

  /// `keys` is the ring stage of the item's keys.
  SPARK_DEVICE KeyWarpgroup(Machine& machine, const BackwardParams& params, const KeyBlock& block,
                            const RowsRing<Config>& keys)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        block_(block),
        mask_(mask_of_block<Config>(machine, params)),
        keys_(keys),
        warpgroup_(machine.uniform(machine.warp()) / kWarpgroupWarps),
        tile_(Config::kKeyTiles == 1 ? 0 : warpgroup_ / Config::kColumnWarpgroups),
        drawn_(tile_),
        first_key_(block.first_key + kWarpgroupRows * tile_ +
                   kWarpRows * (machine.warp() % kWarpgroupWarps)),
        k_(describe_rows(machine, tiles_.k[keys.place()][tile_])),
        v_(describe_rows(machine, tiles_.v[keys.place()][tile_])),
        q_(describe_rows(machine, tiles_.stage[0].q)),
        d_o_(describe_rows(machine, tiles_.stage[0].d_o)),
        q_columns_(describe_columns(machine, tiles_.stage[0].q) + first_column_step()),
        d_o_columns_(describe_columns(machine, tiles_.stage[0].d_o) + first_column_step()) {
    clear(dk_);
    clear(dv_);
  }

  SPARK_DEVICE Machine& machine() { return machine_; }

  // Waiting for, and releasing to, the loader.
  SPARK_DEVICE void wait_for_keys() {
    machine_.wait_at_mbarrier(&tiles_.barriers.rows_full[keys_.place()], keys_.full_parity());
  }
  /// The stage has been refilled since.
  SPARK_DEVICE void release_keys() {
    machine_.fence_async_proxy();
    machine_.arrive_at_mbarrier(&tiles_.barriers.rows_empty[keys_.place()]);
  }
  SPARK_DEVICE void wait_for_queries(const StageRing<Config>& ring) {
    machine_.wait_at_mbarrier(&tiles_.barriers.full[ring.place()], ring.full_parity());
  }
  SPARK_DEVICE void release_stage(int stage) {
    machine_.arrive_at_mbarrier(&tiles_.barriers.empty[stage]);
  }

  /// Line 4.
  SPARK_DEVICE void start_scores(int stage, Scores& s) { multiply_rows(k_, q_, stage, s); }
  SPARK_DEVICE void start_gradients(int stage, Scores& dp) { multiply_rows(v_, d_o_, stage, dp); }

  /// Line 5. `place` is that of a tile of the walk.
  SPARK_DEVICE void mask(int place, const QueryTileAt& tile, Scores& s) {
    if (!tile.is_cut) return;
    const auto hide = [&](int step, int i) { Layout::hide(s.score[step], i); };
    if constexpr (kIsSparse<Config>) {
      hide_unseen_keys(place, hide);
    } else {
      const Range keys{first_key_, first_key_ + kWarpRows};
      if (mask_.all_see({place, place + Config::kStep}, keys)) return;
      const TransposedMask mask{mask_};
      if constexpr (Config::kMasksByEnds) {
        hide_outside<Layout, kSteps, 1>(
            mask, mask.rows_of_all(keys), machine_.lane(), [&](int) { return first_key_; }, place,
            [&](int, int step, int i) { hide(step, i); });
      } else {
        hide_scores<Layout, kSteps>(mask, machine_.lane(), first_key_, place, hide);
      }
    }
  }
  SPARK_DEVICE void recompute_probabilities(const OfQueries& offset, Scores& s) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& value = s.score[step].element[i];
        value = machine_.exp2(machine_.fma(value, params_.scale_log2, offset.of[step][i % 2]));
      }
    }
  }
  /// Which of the dropout words that the loader drew for a stage belongs to the next tile, if that
  /// is not the warpgroup's own.
  SPARK_DEVICE void use_drawn(int tile) { drawn_ = tile; }
  SPARK_DEVICE void load_dropout(int stage) {
    if constexpr (Config::kHasDropout) {
#pragma unroll
      for (int block = 0; block < Config::kStep / kWarpgroupRows; ++block) {
        dropout_[block].load(machine_, tiles_.stage[stage].dropped[block][drawn_]);
      }
    }
  }
  /// P of queries [kBegin, kEnd) of the tile, 0 where dropped, to Element.
  template <int kBegin, int kEnd>
  SPARK_DEVICE void pack_probabilities(const Scores& p, Halves& halves) {
#pragma unroll
    for (int step = kBegin / Layout::kStepKeys; step < kEnd / Layout::kStepKeys; ++step) {
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        const float* const pair = p.score[step].element + 2 * slot;
        std::uint32_t kept = machine_.template pack_halves<Element>(pair[0], pair[1]);
        if constexpr (Config::kHasDropout) {
          kept &= SPARK_PLANTED(
              kHopperDvOfUndroppedP,
              ~dropout_of(step).dropped_halves(machine_, step % TransposedDropout::kSteps, slot),
              ~0u);
        }
        halves.of[step / 2].pair[2 * (step % 2) + slot] = kept;
      }
    }
  }
  /// Line 6 of the same, to Element.
  template <int kBegin, int kEnd>
  SPARK_DEVICE void form_score_gradients(const OfQueries& delta, const Scores& p, const Scores& dp,
                                         Halves& ds) {
#pragma unroll
    for (int step = kBegin / Layout::kStepKeys; step < kEnd / Layout::kStepKeys; ++step) {
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        float value[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float gradient = dp.score[step].element[2 * slot + e];
          if constexpr (Config::kHasDropout) {
            if (SPARK_PLANTED(
                    kHopperDpNotDropped,
                    dropout_of(step).is_dropped(step % TransposedDropout::kSteps, slot, e),
                    false)) {
              gradient = 0.0f;
            }
          }
          value[e] = p.score[step].element[2 * slot + e] *
                     (gradient - delta.of[step][SPARK_PLANTED(kDeltaOfOtherQuery, e, e ^ 1)]);
        }
        ds.of[step / 2].pair[2 * (step % 2) + slot] =
            machine_.template pack_halves<Element>(value[0], value[1]);
      }
    }
  }
  /// Lines 4 and 5 of the tile at `place` of the walk: P over S, and dP, with D. Calls started()
  /// once the products have been started.
  template <class Started>
  SPARK_DEVICE void form_probabilities(int place, const QueryTileAt& tile,
                                       const StageRing<Config>& ring, Started started, Scores& s,
                                       Scores& dp, OfQueries& delta) {
    OfQueries offset;
    const auto& statistics = tiles_.stage[ring.place()].statistics;
    wait_for_queries(ring);
    if constexpr (Config::kLoadsOffsetsEarly) {
      load_statistics(statistics, &StatisticsTile::offset, offset);
    }
    machine_.fence_products();
    start_scores(ring.place(), s);  // line 4
    machine_.commit_products();
    start_gradients(ring.place(), dp);
    machine_.commit_products();
    started();
    machine_.template wait_for_products<1>();
    if constexpr (!Config::kLoadsOffsetsEarly) {
      load_statistics(statistics, &StatisticsTile::offset, offset);
    }
    mask(place, tile, s);
    recompute_probabilities(offset, s);  // line 5
    load_statistics(statistics, &StatisticsTile::delta, delta);
    load_dropout(ring.place());
    machine_.template wait_for_products<0>();
  }
  /// Lines 4 to 6.
  template <class Started>
  SPARK_DEVICE void form_halves(int place, const QueryTileAt& tile, const StageRing<Config>& ring,
                                Started started, Halves& p, Halves& ds) {
    Scores s, dp;
    OfQueries delta;
    form_probabilities(place, tile, ring, started, s, dp, delta);
    form_score_gradients<0, Config::kStep>(delta, s, dp, ds);
    pack_probabilities<0, Config::kStep>(s, p);
  }
  /// Lines 7 and 8, for queries [kBegin, kEnd) of the tile.
  template <int kBegin = 0, int kEnd = Config::kStep>
  SPARK_DEVICE void start_dv(int stage, const Halves& p) {
    multiply_columns<kBegin, kEnd>(p, d_o_columns_, stage, dv_);
  }
  template <int kBegin = 0, int kEnd = Config::kStep>
  SPARK_DEVICE void start_dk(int stage, const Halves& ds) {
    multiply_columns<kBegin, kEnd>(ds, q_columns_, stage, dk_);
  }

  /// Line 9. dK and dV overlay K and V.
  SPARK_DEVICE void write() {
    // After no warp that shares K and V reads them any more.
    machine_.wait_at_barrier(1 + warpgroup_ / Config::kColumnWarpgroups,
                             kWarpgroupWarps * Config::kColumnWarpgroups);
    const int of_warp = kWarpRows * (machine_.warp() % kWarpgroupWarps);
    const int head = block_.key_head * params_.groups.size;
    const OutputRows<Config, Machine> output(machine_, params_.sparse, head, block_.first_key,
                                             block_.first_k + first_key_,
                                             block_.first_k + mask_.seqlen_k);
    const auto store = [&](auto& tile, float scale, const auto& gradient,
                           const OutputViews& views) {
      const float factor[2] = {scale, scale};
      store_accumulator<Element>(machine_, tile, of_warp, first_chunk(), factor, gradient);
      machine_.sync_warp();
      output.template copy<Config::kGradientColumns / 8>(
          tile, of_warp, first_chunk(), params_.head_chunks, views, block_.batch, block_.key_head);
    };
    const float keep_scale = params_.dropout.keep_scale;
    store(tiles_.k[keys_.place()][tile_], params_.scale * keep_scale, dk_,
          {params_.dk, params_.part_dk});
    store(tiles_.v[keys_.place()][tile_], SPARK_PLANTED(kHopperDvKeepScaleLost, keep_scale, 1.0f),
          dv_, {params_.dv, params_.part_dv});
  }

 private:
  /// The queries that see a key, as KeyMask has the keys that a row sees. Keys past the end are
  /// hidden: their score is 0, so exp(0 - lse) would overflow where the true scores are far below
  /// 0, and dQ would get the product of that and the zeros of K's tile.
  struct TransposedMask {
    const KeyMask& mask;
    SPARK_DEVICE Range keys(int key) const { return {begin(key), end(key)}; }
    SPARK_DEVICE int begin(int key) const {
      return SPARK_PLANTED(kTransposedMaskBeforeBegin, mask.rows(key).begin,
                           mask.rows(key).begin - 1);
    }
    SPARK_DEVICE int end(int key) const {
      return key < mask.seqlen_k
                 ? SPARK_PLANTED(kTransposedMaskPastEnd, mask.rows(key).end, mask.rows(key).end + 1)
                 : 0;
    }
    SPARK_DEVICE Range rows_of_all(const Range& keys) const {
      const Range rows = mask.rows_of_all(keys);
      return {rows.begin, keys.end <= mask.seqlen_k ? rows.end : 0};
    }
  };

  /// Hides the block's keys from each query by the mask bits of a partial tile.
  template <class Hide>
  SPARK_DEVICE void hide_unseen_keys(int place, Hide hide) {
    constexpr int kRowWords = Config::kBlockKeys / kSparseWordKeys;
    const int of_block = first_key_ - block_.first_key, lane = machine_.lane();
    const std::uint32_t* const words =
        params_.sparse.words +
        (load_of_list(machine_, &tile_of_place<Config::kStep>(params_.sparse, place)->words) +
         of_block / kSparseWordKeys + kRowWords * 2 * (lane & 3));
    const int first_bit = of_block % kSparseWordKeys + Layout::row(lane, 0);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const std::uint32_t seen =
            machine_.template load_global<std::uint32_t>(words + kRowWords * (8 * step + e)) >>
            first_bit;
        if (SPARK_PLANTED(kPartialKeysAsFull, (seen & 1u) == 0, false)) hide(step, e);
        if ((seen & 1u << 8) == 0) hide(step, 2 + e);
      }
    }
  }

  SPARK_DEVICE int first_chunk() const {
    return warpgroup_ % Config::kColumnWarpgroups * (Config::kGradientColumns / 8);
  }
  SPARK_DEVICE std::uint64_t first_column_step() const {
    static_assert(Config::kColumnWarpgroups == 1 || Config::kGradientColumns % kPanelColumns == 0,
                  "warpgroups share no panel");
    constexpr int kPanels = Config::kGradientColumns / kPanelColumns;
    return descriptor_step(warpgroup_ % Config::kColumnWarpgroups * kPanels *
                           Config::QueryTile::kPanelBytes);
  }
  /// A lane's values of one member of the queries' StatisticsTiles.
  template <int kTiles>
  SPARK_DEVICE void load_statistics(const StatisticsTile (&tiles)[kTiles],
                                    float (StatisticsTile::*member)[StatisticsTile::kRows],
                                    OfQueries& lanes) {
    constexpr int kPairs = StatisticsTile::kRows / 16;
#pragma unroll
    for (int pair = 0; pair < kPairs * kTiles; ++pair) {
      const auto bits = machine_.template load_shared<Bits128>(
          &(tiles[pair / kPairs].*
            member)[StatisticsTile::place_of_lane(pair % kPairs, machine_.lane())]);
      memcpy(&lanes.of[2 * pair], &bits, sizeof bits);
    }
  }
  SPARK_DEVICE const TransposedDropout& dropout_of(int step) const {
    return dropout_[step / TransposedDropout::kSteps];
  }
  SPARK_DEVICE void multiply_rows(std::uint64_t a, std::uint64_t b, int stage, Scores& c) {
    const std::uint64_t of_stage = b + stage_step<Config>(stage);
#pragma unroll
    for (int step = 0; step < Config::kHeadDim / Config::kProductDepth; ++step) {
      machine_.template multiply_async<Element, Config::kStep, kColumnsAreK>(
          c.score, a + columns_step<typename Config::KeyTile>(step),
          of_stage + columns_step<typename Config::QueryTile>(step), step > 0);
    }
  }
  template <int kBegin, int kEnd>
  SPARK_DEVICE void multiply_columns(const Halves& a, std::uint64_t b, int stage,
                                     Fragment (&c)[Config::kGradientColumns / 8]) {
    const std::uint64_t of_stage = b + stage_step<Config>(stage);
#pragma unroll
    for (int step = kBegin / Config::kProductDepth; step < kEnd / Config::kProductDepth; ++step) {
      machine_.template multiply_async<Element, Config::kGradientColumns, kRowsAreK>(
          c, a.of[step], of_stage + rows_step(step), true);
    }
  }

  Machine& machine_;
  const BackwardParams& params_;
  typename Config::Tiles& tiles_;
  const KeyBlock& block_;
  const SequenceMask<Config> mask_;
  const RowsRing<Config>& keys_;
  const int warpgroup_, tile_;
  int drawn_;
  const int first_key_;
  const std::uint64_t k_, v_, q_, d_o_, q_columns_, d_o_columns_;  // for the first stage
  TransposedDropout dropout_[Config::kStep / kWarpgroupRows];
  Fragment dk_[Config::kGradientColumns / 8], dv_[Config::kGradientColumns / 8];
};

}  // namespace sparkbench::hopper
