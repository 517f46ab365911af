#include "results/study/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace sparkbench {
namespace {

/// For normal samples: the interquartile range in standard deviations, and the ratio of the
/// median's standard error to the mean's, sqrt(pi / 2).
constexpr double kNormalQuartileRange = 1.3489795003921634;
constexpr double kMedianEfficiency = 1.2533141373155003;

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double mean_of(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double deviation_of(std::span<const double> samples) {
  if (samples.size() < 2) return 0.0;
  const double mean = mean_of(samples);
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

}  // namespace

Quartiles quartiles_of(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("no samples to take the median of");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return {quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)};
}

double median_of(std::span<const double> samples) { return quartiles_of(samples).median; }

double relative_median_error(std::span<const double> samples) {
  if (samples.size() < 2) return 0.0;
  const Quartiles quartiles = quartiles_of(samples);
  const double deviation = (quartiles.q3 - quartiles.q1) / kNormalQuartileRange;
  return kMedianEfficiency * deviation / std::sqrt(static_cast<double>(samples.size())) /
         quartiles.median;
}

std::vector<double> block_medians(std::span<const double> samples, int block_samples) {
  const auto size = static_cast<std::size_t>(block_samples);
  std::vector<double> medians;
  medians.reserve(samples.size() / size);
  for (std::size_t first = 0; first + size <= samples.size(); first += size) {
    medians.push_back(median_of(samples.subspan(first, size)));
  }
  return medians;
}

double relative_median_error_of_blocks(std::span<const double> samples, int block_samples) {
  return std::max(relative_median_error(samples),
                  relative_median_error(block_medians(samples, block_samples)));
}

TimeMs summarize_samples(std::span<const double> samples_ms) {
  if (samples_ms.empty()) throw std::invalid_argument("no samples to summarize");
  const Quartiles quartiles = quartiles_of(samples_ms);
  const auto [min, max] = std::minmax_element(samples_ms.begin(), samples_ms.end());
  TimeMs time;
  time.median = quartiles.median;
  time.mean = mean_of(samples_ms);
  time.min = *min;
  time.max = *max;
  time.stdev = deviation_of(samples_ms);
  time.q1 = quartiles.q1;
  time.q3 = quartiles.q3;
  time.samples.assign(samples_ms.begin(), samples_ms.end());
  return time;
}

double relative_deviation(std::span<const double> samples) {
  return samples.size() < 2 ? 0.0 : deviation_of(samples) / mean_of(samples);
}

double relative_drift(std::span<const double> samples) {
  if (samples.size() < 2) return 0.0;
  const std::size_t half = samples.size() / 2;
  return std::abs(median_of(samples.last(half)) - median_of(samples.first(half))) /
         median_of(samples);
}

}  // namespace sparkbench
