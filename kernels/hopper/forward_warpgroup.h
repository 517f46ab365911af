// A warp of a warpgroup of the forward kernel: what it carries from one tile of keys to the next,
// 16 of the 64 rows that its warpgroup multiplies, and what it can do with a tile. forward.h puts
// these in order.
#pragma once

#include "kernels/hopper/query_warpgroup.h"
#include "kernels/tile/dropout.h"

namespace sparkbench::hopper {

template <class Config, class Machine>
class ForwardWarpgroup : public QueryWarpgroup<Config, Machine, LaunchParams> {
 public:
  using Base = QueryWarpgroup<Config, Machine, LaunchParams>;
  using typename Base::Fragment;
  using typename Base::Halves;
  using typename Base::Scores;
  using Softmax = TileSoftmax<typename Config::Layout, 1>;

  SPARK_DEVICE ForwardWarpgroup(Machine& machine, const LaunchParams& params,
                                const RowsRing<Config>& queries)
      : Base(machine, params, queries),
        q_(describe_rows(machine, this->rows_of(this->tiles_.q))),
        k_(describe_rows(machine, this->tiles_.stage[0].k)),
        v_(describe_columns(machine, this->tiles_.stage[0].v)) {
    clear(o_);
  }

  /// S = Q K^T of a stage.
  SPARK_DEVICE void start_scores(int stage, Scores& scores) {
    this->multiply_rows(q_, k_ + stage_step<Config>(stage), scores);
  }
  /// O += P V of a stage.
  SPARK_DEVICE void start_values(int stage, const Halves& p) {
    this->multiply_columns(p, v_ + stage_step<Config>(stage), o_);
  }

  /// m = rowmax(m, S); l += P = exp(S - m), P = 0 where dropped, to fp16; O = rescale * O.
  SPARK_DEVICE void form_probabilities(int place, Scores& scores, Halves& p) {
    constexpr int kBlockKeys = 64, kBlockSteps = kBlockKeys / Config::Layout::kStepKeys;
    Machine& machine = this->machine_;
    const LaunchParams& params = this->params_;
    TileDropout<typename Config::Layout, kBlockKeys, 1> dropout[Config::kDropoutBlocks];
    if constexpr (Config::kHasDropout) {
      const int column = first_column<Config>(machine, params, place);
#pragma unroll
      for (int block = 0; block < Config::kDropoutBlocks; ++block) {
        dropout[block].draw(machine, params, this->block_.batch_head(params), this->first_row_,
                            column + kBlockKeys * block);
      }
    }
    Softmax softmax(machine, scores.score, params.scale_log2, rows_);
#pragma unroll
    for (Fragment& columns : o_) {
#pragma unroll
      for (int i = 0; i < 4; ++i) columns.element[i] *= softmax.rescale.of[0][i / 2];
    }
    float value[1][Config::kKeySteps][Config::Layout::kElements];
    softmax.exponentials(machine, scores.score, 0, Config::kKeySteps, params.scale_log2, value);
    rows_.add(machine, softmax.sum);
#pragma unroll
    for (int step = 0; step < Config::kKeySteps; ++step) {
#pragma unroll
      for (int strand = 0; strand < 2; ++strand) {
        const float* const pair = value[0][step] + 2 * strand;
        std::uint32_t halves = machine.pack_halves(pair[0], pair[1]);
        if constexpr (Config::kHasDropout) {
          halves &=
              ~dropout[step / kBlockSteps].dropped_halves(machine, 0, step % kBlockSteps, strand);
        }
        p.of[step / 2].pair[2 * (step % 2) + strand] = halves;
      }
    }
  }

  /// O / l and the log-sum-exp to global memory, once all products are done: by way of Q's place.
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
    store_accumulator(machine, tile, of_warp, 0, factor, o_);
    machine.sync_warp();
    const OutputRows<Config, Machine> output = this->output_rows();
    output.template copy<Config::kColumnSteps>(tile, of_warp, 0, params.head_chunks,
                                               {params.o, params.part_o}, block.batch, block.head);
#pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
      const float lse = machine.fma(rows.m[slot], params.scale, kLn2 * machine.log2(l[slot]));
      const int row = Config::Layout::row(lane, slot);
      if ((lane & 3) != 0 || !output.is_owned(row)) continue;
      const bool is_part = output.is_part();
      machine.store_global((is_part ? params.part_lse : params.lse) +
                               lse_offset(block.batch, block.head, output.place(row), params.heads,
                                          is_part ? params.part_rows : params.mask.seqlen_q),
                           lse);
    }
  }

 private:
  const std::uint64_t q_, k_, v_;  // descriptors; of the first stage
  typename Config::Rows rows_;
  Fragment o_[Config::kColumnSteps];
};

}  // namespace sparkbench::hopper
