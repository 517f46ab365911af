// The SM clocks during a series of samples. A card that is too hot or short of power lowers
// its clock; samples taken then are slow for a reason outside the kernel.
#pragma once

#include <optional>
#include <span>

#include "results/record/case_record.h"

namespace sparkbench {

/// A sample counts as throttled if the SMs ran below this share of their highest clock. Attention
/// kernels lower the clock of an H200 that is far from its power limit to 82 to 97 %, each kernel
/// to its own value in every run. An H200 at its power limit falls to 64 %.
inline constexpr double kThrottledBelow = 0.8;

/// Empty if no reading is known. Keeps all readings.
std::optional<ClockMhz> summarize_clocks(std::span<const std::optional<double>> clocks_mhz);

/// Number of known readings below kThrottledBelow of `highest_mhz`.
int count_throttled(std::span<const std::optional<double>> clocks_mhz, double highest_mhz);

}  // namespace sparkbench
