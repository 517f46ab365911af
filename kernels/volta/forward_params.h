// What the Volta forward kernel is launched with: the same on a GPU and on the emulated machine.
#pragma once

#include "kernels/attention.h"
#include "kernels/tile/log2e.h"
#include "kernels/tile/mask.h"

namespace sparkbench::volta {

/// What the forward kernel accumulates in. A single one is what the MMAs accumulate in, and O runs
/// in FP32.
struct ForwardAccumulators {
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr ForwardAccumulators(Accumulator of_mma, Accumulator of_output = Accumulator::kFp32)
      : mma(of_mma), output(of_output) {}

  Accumulator mma;     // C of every MMA
  Accumulator output;  // O over the key loop; FP16 only where the MMAs' is
};

struct ForwardParams {
  ForwardTensors tensors;
  int heads;
  KeyMask mask;
  float scale;       // of the scores
  float scale_log2;  // scale * log2(e), so that exp(scale * s) = exp2(scale_log2 * s)
  Dropout dropout;
};

inline ForwardParams forward_params(const Problem& problem, const ForwardTensors& tensors) {
  return {tensors,
          problem.heads,
          {problem.seqlen_q, problem.seqlen_k, problem.causal},
          problem.scale(),
          problem.scale() * kLog2E,
          problem.dropout()};
}

}  // namespace sparkbench::volta
