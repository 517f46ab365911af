#include "harness/statistics.h"

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

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

TimeMs summarize_samples(std::span<const double> samples_ms) {
  if (samples_ms.empty()) throw std::invalid_argument("no samples to summarize");
  std::vector<double> sorted(samples_ms.begin(), samples_ms.end());
  std::sort(sorted.begin(), sorted.end());
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

double relative_standard_error(std::span<const double> samples) {
  return samples.empty()
             ? 0.0
             : relative_deviation(samples) / std::sqrt(static_cast<double>(samples.size()));
}

}  // namespace sparkbench
