// When enough samples have been taken, and why.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "harness/timing/timing.h"

namespace sparkbench {

/// "time": the time limit is reached, however few the samples. "noise": the options' least time and
/// number of samples have passed, and the median is settled. "samples": the largest number of
/// samples is reached, and the median is not settled. Empty: continue.
std::optional<std::string_view> why_stop(std::span<const double> samples_ms, double seconds,
                                         const TimingOptions& options);

/// Whether there are the options' least number of blocks, relative_median_error_of_blocks() is at
/// most options.max_noise, and the medians of the first and the second half differ by at most twice
/// that, as they would by chance. The last condition catches a clock that still falls: its series
/// has little noise but a wrong median. False for NaN.
bool is_settled(std::span<const double> samples_ms, const TimingOptions& options);

}  // namespace sparkbench
