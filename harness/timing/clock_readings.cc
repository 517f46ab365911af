#include "harness/timing/clock_readings.h"

#include <algorithm>
#include <vector>

#include "results/study/statistics.h"

namespace sparkbench {

std::optional<ClockMhz> summarize_clocks(std::span<const std::optional<double>> clocks_mhz) {
  std::vector<double> known;
  for (const std::optional<double>& clock : clocks_mhz) {
    if (clock) known.push_back(*clock);
  }
  if (known.empty()) return std::nullopt;
  const auto [min, max] = std::minmax_element(known.begin(), known.end());
  return ClockMhz{median_of(known), *min, *max, {clocks_mhz.begin(), clocks_mhz.end()}};
}

int count_throttled(std::span<const std::optional<double>> clocks_mhz, double highest_mhz) {
  return static_cast<int>(std::count_if(clocks_mhz.begin(), clocks_mhz.end(),
                                        [highest_mhz](const std::optional<double>& clock) {
                                          return clock && *clock < kThrottledBelow * highest_mhz;
                                        }));
}

}  // namespace sparkbench
