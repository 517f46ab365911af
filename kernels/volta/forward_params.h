// What the Volta forward kernel is launched with: the same on a GPU and on the emulated machine.
#pragma once

#include "kernels/tensors.h"
#include "kernels/tile/log2e.h"
#include "kernels/tile/mask.h"

namespace sparkbench::volta {

/// What the forward kernel accumulates in.
struct ForwardAccumulators {
  Accumulator qk;      // C of the MMAs of S = Q K^T
  Accumulator pv;      // C of those of P V
  Accumulator output;  // O over the key loop

  constexpr bool operator==(const ForwardAccumulators& other) const {
    return qk == other.qk && pv == other.pv && output == other.output;
  }
};

/// O runs in FP32 in all but the last, the paper's FP16-ACC.
inline constexpr ForwardAccumulators kFp32Acc{Accumulator::kFp32, Accumulator::kFp32,
                                              Accumulator::kFp32};
inline constexpr ForwardAccumulators kMixedAcc{Accumulator::kFp16, Accumulator::kFp32,
                                               Accumulator::kFp32};
inline constexpr ForwardAccumulators kFp16Acc{Accumulator::kFp16, Accumulator::kFp16,
                                              Accumulator::kFp32};
inline constexpr ForwardAccumulators kFp16AccO16{Accumulator::kFp16, Accumulator::kFp16,
                                                 Accumulator::kFp16};

struct ForwardParams {
  ForwardTensors tensors;
  int heads;
  KeyMask mask;
  float scale;       // of the scores
  float scale_log2;  // scale * log2(e), so that exp(scale * s) = exp2(scale_log2 * s)
  Dropout dropout;
};

/// Whether block 0 of a head computes its last tile of queries: where late rows see more keys than
/// early ones, the longest start first, so that short ones fill the last wave.
SPARK_HD bool launches_last_tile_first(const KeyMask& mask) { return mask.grows(); }

inline ForwardParams forward_params(const Problem& problem, const ForwardTensors& tensors) {
  return {tensors,
          problem.heads,
          problem.key_mask(),
          problem.scale(),
          problem.scale() * kLog2E,
          problem.dropout()};
}

}  // namespace sparkbench::volta
