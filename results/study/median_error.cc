#include "results/study/median_error.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace sparkbench {
namespace {

/// Of normal samples: the interquartile range in standard deviations, and the standard error of the
/// median in those of the mean, sqrt(pi / 2).
constexpr double kNormalQuartileRange = 1.3489795003921634;
constexpr double kMedianEfficiency = 1.2533141373155003;

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
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

}  // namespace sparkbench
