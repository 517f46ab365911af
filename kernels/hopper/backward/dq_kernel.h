// dQ = scale * dS K for Hopper's wgmma, over blocks of queries: P is recomputed from Q, K and the
// log-sum-exp, and dS = P * (dP - D), D = rowsum(dO * O) (FlashAttention-2, algorithm 2).
//
// One block has kBlockM queries of one head, each warpgroup 64 of them, and a warpgroup that loads:
//    1  the loader: Q and dO to shared memory
//    2  for each tile of 64 keys that a row of the block sees:
//    3      the loader: K and V to a stage of shared memory
//    4      S = Q K^T, dP = dO V^T                     tensor cores
//    5      P = exp(S - lse), 0 where masked           beside dP
//    6      dS = P * (dP - D), dP = 0 where dropped
//    7      dQ += dS K                                 tensor cores, dS in registers
//    8  scale * dQ to global memory
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/backward/config.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/chunks.h"
#include "kernels/hopper/key_loader.h"
#include "kernels/hopper/query_warpgroup.h"
#include "kernels/tile/dropout.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

template <class Config, class Machine>
class DqWarpgroup : public QueryWarpgroup<Config, Machine, BackwardParams> {
 public:
  using Base = QueryWarpgroup<Config, Machine, BackwardParams>;
  using typename Base::Fragment;
  using typename Base::Halves;
  using typename Base::Scores;
  using Dropped = TileDropout<typename Config::Layout, Config::kBlockN, 1>;

  SPARK_DEVICE DqWarpgroup(Machine& machine, const BackwardParams& params,
                           const RowsRing<Config>& queries)
      : Base(machine, params, queries),
        q_(describe_rows(machine, this->rows_of(this->tiles_.q))),
        d_o_(describe_rows(machine, this->rows_of(this->tiles_.d_o))),
        k_(describe_rows(machine, this->tiles_.stage[0].k)),
        v_(describe_rows(machine, this->tiles_.stage[0].v)),
        k_columns_(describe_columns(machine, this->tiles_.stage[0].k)) {
    clear(dq_);
  }

  SPARK_DEVICE void load_statistics() {
    const ForwardBlock& block = this->block_;
    const int rows =
        kIsVarlen<Config> ? statistics_rows(this->mask_.seqlen_q) : this->params_.rows_per_head;
#pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
      const int row = this->first_row_ + Config::Layout::row(this->machine_.lane(), slot);
      statistics_[slot] = {-INFINITY, 0.0f};
      if (row >= rows) continue;
      const StatisticsTile& tile =
          this->params_.statistics[this->params_.template query_tile<Config>(
              block.batch, block.sequence, block.first_q, block.head, row)];
      const int place = StatisticsTile::place(row % StatisticsTile::kRows);
      statistics_[slot] = {this->machine_.template load_global<float>(&tile.offset[place]),
                           this->machine_.template load_global<float>(&tile.delta[place])};
    }
  }

  /// Line 4.
  SPARK_DEVICE void start_scores(int stage, Scores& s) {
    this->multiply_rows(q_, k_ + stage_step<Config>(stage), s);
  }
  SPARK_DEVICE void start_gradients(int stage, Scores& dp) {
    this->multiply_rows(d_o_, v_ + stage_step<Config>(stage), dp);
  }
  /// Line 5.
  SPARK_DEVICE void recompute_probabilities(Scores& s) {
#pragma unroll
    for (Fragment& columns : s.score[0]) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        columns.element[i] = this->machine_.exp2(this->machine_.fma(
            columns.element[i], this->params_.scale_log2, statistics_[i / 2].offset));
      }
    }
  }
  SPARK_DEVICE void draw_dropout(int place, Dropped& dropout) {
    if constexpr (Config::kHasDropout) {
      dropout.draw(this->machine_, this->params_, this->block_.batch_head(this->params_),
                   this->first_row_, first_key<Config>(this->machine_, this->params_, place));
    }
  }
  /// Line 6, to Element, for keys [kBegin, kEnd).
  template <int kBegin, int kEnd>
  SPARK_DEVICE void form_score_gradients(const Scores& p, const Scores& dp, const Dropped& dropout,
                                         Halves& ds) {
    constexpr int kStepKeys = Config::Layout::kStepKeys;
#pragma unroll
    for (int step = kBegin / kStepKeys; step < kEnd / kStepKeys; ++step) {
#pragma unroll
      for (int strand = 0; strand < 2; ++strand) {
        float value[2];
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          const int i = 2 * strand + n;
          float gradient = dp.score[0][step].element[i];
          if constexpr (Config::kHasDropout) {
            if ((dropout.word[0] & 1u << (16 * strand + 8 * n +
                                          SPARK_PLANTED(kDqDropoutDiffers, step, step ^ 1))) != 0)
              gradient = 0.0f;
          }
          value[n] =
              p.score[0][step].element[i] *
              (gradient - SPARK_PLANTED(kHopperDqDeltaLeftOut, statistics_[strand].delta, 0.0f));
        }
        ds.of[step / 2].pair[2 * (step % 2) + strand] =
            this->machine_.template pack_halves<typename Config::Element>(value[0], value[1]);
      }
    }
  }
  /// Line 7, for the same keys.
  template <int kBegin, int kEnd>
  SPARK_DEVICE void start_dq(int stage, const Halves& ds) {
    this->template multiply_columns<kBegin, kEnd>(ds, k_columns_ + stage_step<Config>(stage), dq_);
  }

  /// Line 8. dQ overlays Q.
  SPARK_DEVICE void write() {
    Machine& machine = this->machine_;
    const BackwardParams& params = this->params_;
    const ForwardBlock& block = this->block_;
    this->meet_warpgroup();
    const float scale = params.scale * params.dropout.keep_scale, factor[2] = {scale, scale};
    auto& tile = this->rows_of(this->tiles_.q);
    const int of_warp = kWarpRows * (machine.warp() % kWarpgroupWarps);
    store_accumulator<typename Config::Element>(machine, tile, of_warp, 0, factor, dq_);
    machine.sync_warp();
    const OutputRows<Config, Machine> output = this->output_rows();
    output.template copy<Config::kColumnSteps>(
        tile, of_warp, 0, params.head_chunks, {params.dq, params.part_dq}, block.batch, block.head);
  }

 private:
  const std::uint64_t q_, d_o_, k_, v_, k_columns_;  // descriptors, for the first stage
  RowStatistics statistics_[2];
  Fragment dq_[Config::kColumnSteps];
};

/// Lines 2 to 7 of a warpgroup, which takes part in the ring of all tiles of the item.
template <class Config, class Machine>
SPARK_DEVICE void attend_backward(DqWarpgroup<Config, Machine>& warp, StageRing<Config>& ring,
                                  const Range& keys) {
  using Warpgroup = DqWarpgroup<Config, Machine>;
  Machine& machine = warp.machine();
  typename Warpgroup::Halves ds;
  int place = first_tile<Config::kTileStart>(keys);
  for (int tiles = tile_count<Config>(keys); tiles > 0; --tiles) {
    const auto tile = warp.tile_at(place);
    warp.wait_for_keys(ring);
    warp.wait_for_values(ring);
    if (tile.is_seen()) {
      typename Warpgroup::Scores s, dp;
      machine.fence_products();
      warp.start_scores(ring.place(), s);  // line 4
      machine.commit_products();
      warp.start_gradients(ring.place(), dp);
      machine.commit_products();
      machine.template wait_for_products<1>();
      warp.mask(place, tile, s);
      warp.recompute_probabilities(s);  // line 5
      typename Warpgroup::Dropped dropout;
      warp.draw_dropout(place, dropout);
      machine.template wait_for_products<0>();
      warp.release_values(ring.place());
      const int stage = ring.place();
      // The products of one chunk run beside the arithmetic of the next.
      for_each_chunk<Config::kPartKeys, Config::kBlockN>([&](auto chunk) {
        constexpr int kBegin = decltype(chunk)::kBegin, kEnd = decltype(chunk)::kEnd;
        warp.template form_score_gradients<kBegin, kEnd>(s, dp, dropout, ds);  // line 6
        machine.fence_products();
        warp.template start_dq<kBegin, kEnd>(stage, ds);  // line 7
        machine.commit_products();
      });
      machine.template wait_for_products<0>();
    } else {
      warp.release_values(ring.place());
    }
    warp.release_keys(ring.place());
    place += Config::kBlockN;
    ring.advance();
  }
}

/// The dQ kernel.
template <class Config, class Machine>
SPARK_DEVICE void attention_backward_dq(Machine& machine, const BackwardParams& params) {
  const auto load = [&](auto& item) { load_items<Config>(item, params); };  // lines 1, 3
  divide_block<Config>(machine, params, load, [&](auto& item) {
    using Item = std::decay_t<decltype(item)>;
    StageRing<Config> ring;
    RowsRing<Config> queries;
    for (; !item.is_done(); item.advance()) {
      if (is_without_work<Config>(item, params)) continue;
      DqWarpgroup<Config, Item> warpgroup(item, params, queries);
      warpgroup.load_statistics();
      warpgroup.wait_for_queries();
      attend_backward<Config>(warpgroup, ring,
                              keys_of_block<Config>(item, params));  // lines 2 to 7
      warpgroup.write();                                             // line 8
      warpgroup.release_queries();
      queries.advance();
    }
  });
}

}  // namespace sparkbench::hopper
