// The bwd preprocess of 16 queries: their log-sum-exp, and D = rowsum(dO * O).
#pragma once

#include <cstring>

#include "kernels/tile/row_dot.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/tile/statistics_rows.h"

namespace sparkbench::volta {

/// The statistics of 16 queries of a head, by a warp: loads their inputs, then stores or publishes
/// them.
template <class Config>
class StagedStatistics {
 public:
  /// Row r of the 16 is token_of(r) of a tensor if is_inside(r). The statistics of other rows make
  /// P zero.
  template <class Machine, class IsInside, class TokenOf>
  SPARK_DEVICE void load(Machine& machine, const BackwardParams& params, int batch, int head,
                         IsInside is_inside, TokenOf token_of) {
#pragma unroll
    for (int i = 0; i < kTimes; ++i) {
      const int row = kRowsAtOnce * i + machine.lane() / kLanesOfRow;
      const int chunks = is_inside(row) ? params.head_chunks : 0;
      const int token = token_of(row);
      const Bits16* const o = params.o.at(batch, token, head);
      const Bits16* const d_o = params.d_o.at(batch, token, head);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const int own = kLanesOfRow * chunk + machine.lane() % kLanesOfRow;
        o_[i][chunk] = d_o_[i][chunk] = Bits128{};
        if (own >= chunks) continue;
        o_[i][chunk] = machine.template load_global<Bits128>(o + kChunkHalves * own);
        d_o_[i][chunk] = machine.template load_global<Bits128>(d_o + kChunkHalves * own);
      }
    }
    const int row = row_of_lane(machine);
    lse_ = -INFINITY;
    if (has_row(machine) && is_inside(row)) {
      lse_ = machine.template load_global<float>(
          params.lse + lse_offset(batch, head, token_of(row), params.heads, params.mask.seqlen_q));
    }
  }

  /// Calls store(i, Bits64), i being an index in statistics_place()'s order. Its bits are never all
  /// ones, which would be kUnpublished: a NaN of D comes from halves, whose NaNs have 10 bits, or
  /// is a GPU's own, 0x7fffffff.
  template <class Machine, class Store>
  SPARK_DEVICE void finish(Machine& machine, const BackwardParams& params, Store store) const {
    float delta = 0.0f;
#pragma unroll
    for (int i = 0; i < kTimes; ++i) {
      float sum = 0.0f;
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        sum = dot_chunk<Half>(machine, o_[i][chunk], d_o_[i][chunk], sum);
      }
#pragma unroll
      for (int distance = kLanesOfRow / 2; distance > 0; distance /= 2) {
        sum += machine.shuffle_xor(sum, distance);
      }
      if (machine.lane() % kLanesOfRow == i) delta = sum;
    }
    if (!has_row(machine)) return;
    const RowStatistics of_row = row_statistics<ProbabilityScale<Config::kAccumulator>>(
        lse_, delta, params.dropout.keep_scale);
    Bits64 bits;
    memcpy(&bits, &of_row, sizeof bits);
    store(statistics_place(row_of_lane(machine)), bits);
  }

 private:
  static constexpr int kLanesOfRow = 8, kRowsAtOnce = 32 / kLanesOfRow;
  static constexpr int kTimes = kGridRows / kRowsAtOnce;
  static constexpr int kChunks = (Config::kHeadDim / kChunkHalves + kLanesOfRow - 1) / kLanesOfRow;

  /// Which of the 16 rows a lane stores.
  template <class Machine>
  SPARK_DEVICE static bool has_row(Machine& machine) {
    return machine.lane() % kLanesOfRow < kTimes;
  }
  template <class Machine>
  SPARK_DEVICE static int row_of_lane(Machine& machine) {
    return kRowsAtOnce * (machine.lane() % kLanesOfRow) + machine.lane() / kLanesOfRow;
  }

  Bits128 o_[kTimes][kChunks], d_o_[kTimes][kChunks];
  float lse_;
};

}  // namespace sparkbench::volta
