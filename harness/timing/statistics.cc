#include "harness/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace sparkbench {
namespace {

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

std::vector<double> in_order(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Of normal samples: the interquartile range in standard deviations, and the standard error of the
/// median in those of the mean, sqrt(pi / 2).
constexpr double kNormalQuartileRange = 1.3490;
constexpr double kMedianEfficiency = 1.2533;

}  // namespace

double median_of(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("no samples to take the median of");
  return quantile(in_order(samples), 0.5);
}

TimeMs summarize_samples(std::span<const double> samples_ms) {
  if (samples_ms.empty()) throw std::invalid_argument("no samples to summarize");
  const std::vector<double> sorted = in_order(samples_ms);
  TimeMs time;
  time.median = quantile(sorted, 0.5);
  time.mean = mean_of(samples_ms);
  time.min = sorted.front();
  time.max = sorted.back();
  time.stdev = deviation_of(samples_ms);
  time.q1 = quantile(sorted, 0.25);
  time.q3 = quantile(sorted, 0.75);
  time.samples.assign(samples_ms.begin(), samples_ms.end());
  return time;
}

double relative_deviation(std::span<const double> samples) {
  return samples.size() < 2 ? 0.0 : deviation_of(samples) / mean_of(samples);
}

double relative_median_error(std::span<const double> samples) {
  if (samples.size() < 2) return 0.0;
  const std::vector<double> sorted = in_order(samples);
  const double deviation = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / kNormalQuartileRange;
  return kMedianEfficiency * deviation / std::sqrt(static_cast<double>(samples.size())) /
         quantile(sorted, 0.5);
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

double relative_drift(std::span<const double> samples) {
  if (samples.size() < 2) return 0.0;
  const std::size_t half = samples.size() / 2;
  return std::abs(median_of(samples.last(half)) - median_of(samples.first(half))) /
         median_of(samples);
}

}  // namespace sparkbench
