// For tests of a layer's steps: a small layer.
#pragma once

#include <cstdint>

#include "kernels/problem/attention.h"
#include "reference/encoder/layer_shape.h"

namespace sparkbench {

constexpr std::uint64_t kTokens = 512, kHidden = 256, kFfn = 1024;

inline Problem problem_with(float dropout_p, MaskSpec mask = MaskSpec::full()) {
  Problem problem;
  problem.batch = 4;
  problem.heads = 4;
  problem.seqlen_q = problem.seqlen_k = 128;
  problem.head_dim = 64;
  problem.mask = mask;
  problem.dropout_p = dropout_p;
  return problem;
}

inline LayerShape shape_with(Rest rest, NormPlace norm = NormPlace::kPost, bool bias = true) {
  return {.hidden = kHidden, .ffn = kFfn, .norm = norm, .bias = bias, .rest = rest};
}

}  // namespace sparkbench
