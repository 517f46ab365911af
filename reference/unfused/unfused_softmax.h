// The softmax of the unfused computation (unfused.h), shared by its forward and backward pass: fp32
// arithmetic on scores and probabilities that are rounded to the element type.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/problem/attention.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// rounded(scale * A B^T), [a.rows(), b.rows()]: S or, for keys by queries, its transpose.
std::vector<float> unfused_scores(const Problem& problem, const HalfMatrix& a, const HalfMatrix& b,
                                  const TensorCores& tensor_cores);

/// The sum in a warp's order: lane l adds elements l, l + 32, ...; then a butterfly.
float warp_sum(std::span<const float> values);

/// The normalization of a row of scores. Without scores: max = -inf, sum = 0, lse = -inf.
struct SoftmaxStatistics {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0.0f;

  float lse() const { return max + std::log(sum); }
  /// rounded(scale * exp(score - max) / sum)
  float p(ElementType element, float score, float scale = 1.0f) const {
    return rounded_to(element, scale * (std::exp(score - max) / sum));
  }
};

SoftmaxStatistics softmax_statistics(std::span<const float> scores);

}  // namespace sparkbench
