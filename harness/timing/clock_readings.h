// What the SM clocks of a series of samples say. A card that is too hot or short of power lowers
// its clock, and a sample that was taken so is slow for a reason that is not the kernel's.
#pragma once

#include <optional>
#include <span>

#include "results/record/case_record.h"

namespace sparkbench {

/// A sample is throttled when the SMs ran below this part of their highest clock. Attention kernels
/// draw the clock of an H200 that is far from its power limit to 82 to 97 %, each to its own and in
/// every run; one that is held at its limit falls to 64 %.
inline constexpr double kThrottledBelow = 0.8;

/// Nothing when no reading is known. All readings are kept.
std::optional<ClockMhz> summarize_clocks(std::span<const std::optional<double>> clocks_mhz);

/// How many readings are below kThrottledBelow of `highest_mhz`. Unknown ones are not.
int count_throttled(std::span<const std::optional<double>> clocks_mhz, double highest_mhz);

}  // namespace sparkbench
