// A warp of a warpgroup of the forward kernel: its state from one tile of keys to the next, for 16
// of the 64 rows that its warpgroup multiplies, and its steps for a tile. kernel.h puts these in
// order.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/forward/config.h"
#include "kernels/hopper/query_warpgroup.h"
#include "kernels/tile/dropout.h"

namespace sparkbench::hopper {

template <class Config, class Machine>
class ForwardWarpgroup : public QueryWarpgroup<Config, Machine, LaunchParams> {
 public:
  using Base = QueryWarpgroup<Config, Machine, LaunchParams>;
  using typename Base::Fragment;
  using typename Base::Halves;
  template <int kKeys>
  using ScoresOf = typename Base::template ScoresOf<kKeys>;
  using Softmax = TileExponentials<typename Config::Layout, 1>;
  template <int kKeys>
  struct DropoutOf {
    TileDropout<typename Config::Layout, kDropoutKeys, 1> of_block[kKeys / kDropoutKeys];
  };

  SPARK_DEVICE ForwardWarpgroup(Machine& machine, const LaunchParams& params,
                                const RowsRing<Config>& queries)
      : Base(machine, params, queries),
        q_(describe_rows(machine, this->rows_of(this->tiles_.q))),
        k_(describe_rows(machine, this->tiles_.stage[0].k)),
        v_(describe_columns(machine, this->tiles_.stage[0].v)) {
    clear(o_);
  }

  /// S = Q K^T of a stage's keys from the first-th on.
  template <int kKeys>
  SPARK_DEVICE void start_scores(int stage, int first, ScoresOf<kKeys>& scores) {
    this->multiply_rows(q_, k_ + stage_step<Config>(stage) + keys_step(first), scores);
  }
  /// O += P V for keys [kBegin, kEnd) of these.
  template <int kBegin, int kEnd>
  SPARK_DEVICE void start_values(int stage, int first, const Halves& p) {
    this->template multiply_columns<kBegin, kEnd>(
        p, v_ + stage_step<Config>(stage) + keys_step(first), o_);
  }

  /// Where S exceeds m by far, m = rowmax(m, S) and O = rescale * O.
  template <int kKeys>
  SPARK_DEVICE Softmax begin_softmax(const ScoresOf<kKeys>& scores) {
    Machine& machine = this->machine_;
    const float scale_log2 = this->params_.scale_log2;
    typename Softmax::Values largest;
    Config::Layout::largest_from_zero(machine, scores.score[0], largest.of[0]);
    if (rows_.may_rise(machine, largest, scale_log2)) {
      Config::Layout::largest(machine, scores.score[0], largest.of[0]);
      const auto rescale = rows_.raise(machine, largest, scale_log2);
#pragma unroll
      for (Fragment& columns : o_) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          columns.element[i] *= SPARK_PLANTED(kHopperOutputNotRescaled, rescale.of[0][i / 2], 1.0f);
      }
    }
    return rows_.exponentials(machine, scale_log2);
  }
  /// Draws which elements are dropped, for the keys from `place` on.
  template <int kKeys>
  SPARK_DEVICE void draw_dropout(int place, DropoutOf<kKeys>& dropout) {
    if constexpr (Config::kHasDropout) {
      const int column = first_key<Config>(this->machine_, this->params_, place);
#pragma unroll
      for (int block = 0; block < kKeys / kDropoutKeys; ++block) {
        dropout.of_block[block].draw(this->machine_, this->params_,
                                     this->block_.batch_head(this->params_), this->first_row_,
                                     column + kDropoutKeys * block);
      }
    }
  }
  /// l += P = exp(S - m), P = 0 where dropped, to Element, for keys [kBegin, kEnd).
  template <int kKeys, int kBegin, int kEnd>
  SPARK_DEVICE void form_probabilities(const ScoresOf<kKeys>& scores,
                                       const DropoutOf<kKeys>& dropout, Softmax& softmax,
                                       Halves& p) {
    constexpr int kStepKeys = Config::Layout::kStepKeys, kBlockSteps = kDropoutKeys / kStepKeys;
    Machine& machine = this->machine_;
    float value[1][kKeys / kStepKeys][Config::Layout::kElements];
    softmax.exponentials(machine, scores.score, kBegin / kStepKeys, kEnd / kStepKeys,
                         this->params_.scale_log2, value);
#pragma unroll
    for (int step = kBegin / kStepKeys; step < kEnd / kStepKeys; ++step) {
#pragma unroll
      for (int strand = 0; strand < 2; ++strand) {
        const float* const pair = value[0][step] + 2 * strand;
        std::uint32_t halves =
            machine.template pack_halves<typename Config::Element>(pair[0], pair[1]);
        if constexpr (Config::kHasDropout) {
          halves &= ~dropout.of_block[step / kBlockSteps].dropped_halves(
              machine, 0, step % kBlockSteps, strand);
        }
        p.of[step / 2].pair[2 * (step % 2) + strand] =
            SPARK_PLANTED(kProbabilityOfEightBits, halves, halves & 0xfff8fff8u);
      }
    }
  }
  /// l of the whole tile.
  SPARK_DEVICE void add_sums(const Softmax& softmax) { rows_.add(this->machine_, softmax.sum); }

  /// O / l and the log-sum-exp to global memory, once all products are done. O overlays Q.
  SPARK_DEVICE void write() {
    Machine& machine = this->machine_;
    const LaunchParams& params = this->params_;
    const ForwardBlock& block = this->block_;
    this->meet_warpgroup();
    const auto rows = rows_.finished(machine, 0);
    float l[2], factor[2];
    normalization<Config>(machine, params, rows, l, factor);
    auto& tile = this->rows_of(this->tiles_.q);
    const int of_warp = kWarpRows * (machine.warp() % kWarpgroupWarps), lane = machine.lane();
    store_accumulator<typename Config::Element>(machine, tile, of_warp, 0, factor, o_);
    machine.sync_warp();
    const OutputRows<Config, Machine> output = this->output_rows();
    output.template copy<Config::kColumnSteps>(tile, of_warp, 0, params.head_chunks,
                                               {params.o, params.part_o}, block.batch, block.head);
#pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
      const float lse = machine.fma(rows.m[slot], params.scale,
                                    SPARK_PLANTED(kLseInBase2, kLn2, 1.0f) * machine.log2(l[slot]));
      const int row = Config::Layout::row(lane, slot);
      if ((lane & 3) != 0 || !output.is_owned(row)) continue;
      const bool is_part = output.is_part();
      machine.store_global((is_part ? params.part_lse : params.lse) +
                               lse_offset(SPARK_PLANTED(kLseOfFirstEntry, block.batch, 0),
                                          block.head, output.place(row), params.heads,
                                          is_part ? params.part_rows : params.mask.seqlen_q),
                           lse);
    }
  }

 private:
  /// The offset of a stage's first-th row from its first.
  SPARK_DEVICE static std::uint64_t keys_step(int first) {
    return rows_step(first / Config::kProductDepth);
  }

  const std::uint64_t q_, k_, v_;  // descriptors, for the first stage
  typename Config::Rows rows_;
  Fragment o_[Config::kColumnSteps];
};

}  // namespace sparkbench::hopper
