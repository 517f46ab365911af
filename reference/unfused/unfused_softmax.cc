#include "reference/unfused/unfused_softmax.h"

#include <algorithm>
#include <array>

namespace sparkbench {
namespace {

constexpr std::size_t kLanes = 32;

}  // namespace

std::vector<float> unfused_scores(const Problem& problem, const HalfMatrix& a, const HalfMatrix& b,
                                  const TensorCores& tensor_cores) {
  std::vector<float> scores = tensor_core_matmul(tensor_cores, a, b);
  for (float& score : scores) score = rounded_to(tensor_cores.element, problem.scale() * score);
  return scores;
}

float warp_sum(std::span<const float> values) {
  std::array<float, kLanes> lanes{};
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i % kLanes] += values[i];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

SoftmaxStatistics softmax_statistics(std::span<const float> scores) {
  if (scores.empty()) return {};
  const float max = *std::max_element(scores.begin(), scores.end());
  std::vector<float> exponentials(scores.size());
  std::transform(scores.begin(), scores.end(), exponentials.begin(),
                 [max](float score) { return std::exp(score - max); });
  return {max, warp_sum(exponentials)};
}

}  // namespace sparkbench
