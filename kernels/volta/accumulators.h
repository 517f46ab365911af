// What the Volta kernels accumulate in.
#pragma once

#include "kernels/tile/forward_params.h"

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

/// Of the kernel whose backward pass accumulates scores so.
constexpr ForwardAccumulators accumulators_of(Accumulator accumulator) {
  return accumulator == Accumulator::kFp32 ? kFp32Acc : kFp16Acc;
}

}  // namespace sparkbench::volta
