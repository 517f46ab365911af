#include "harness/timing/stop_rule.h"

#include "results/study/statistics.h"

namespace sparkbench {

bool is_settled(std::span<const double> samples_ms, const Method& method) {
  return static_cast<int>(samples_ms.size()) >= method.min_blocks * *method.block_samples &&
         relative_median_error_of_blocks(samples_ms, *method.block_samples) <= *method.max_noise &&
         relative_drift(samples_ms) <= 2 * *method.max_noise;
}

std::optional<std::string_view> why_stop(std::span<const double> samples_ms, double seconds,
                                         const Method& method) {
  const auto count = static_cast<int>(samples_ms.size());
  const bool is_full = count >= method.max_samples;
  const bool is_enough = count >= *method.min_samples && seconds >= *method.min_seconds;
  if ((is_enough || is_full) && is_settled(samples_ms, method)) return "noise";
  if (is_full) return "samples";
  if (seconds >= *method.max_seconds) return "time";
  return std::nullopt;
}

}  // namespace sparkbench
