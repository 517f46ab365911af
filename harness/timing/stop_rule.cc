#include "harness/timing/stop_rule.h"

#include "harness/timing/statistics.h"

namespace sparkbench {

bool is_settled(std::span<const double> samples_ms, const TimingOptions& options) {
  return static_cast<int>(samples_ms.size()) >= options.min_blocks * options.block_samples &&
         relative_median_error_of_blocks(samples_ms, options.block_samples) <= options.max_noise &&
         relative_drift(samples_ms) <= 2 * options.max_noise;
}

std::optional<std::string_view> why_stop(std::span<const double> samples_ms, double seconds,
                                         const TimingOptions& options) {
  const auto count = static_cast<int>(samples_ms.size());
  const bool is_full = count >= options.max_samples;
  const bool is_enough = count >= options.min_samples && seconds >= options.min_seconds;
  if ((is_enough || is_full) && is_settled(samples_ms, options)) return "noise";
  if (is_full) return "samples";
  if (seconds >= options.max_seconds) return "time";
  return std::nullopt;
}

}  // namespace sparkbench
