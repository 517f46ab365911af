#include "harness/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

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

}  // namespace

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
