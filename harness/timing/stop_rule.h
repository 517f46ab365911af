// When enough samples have been taken, and why.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "harness/timing/timing.h"

namespace sparkbench {

/// "time": the seconds are used up, however few the samples.
/// "noise": the options' least time and number of samples have passed, and the median is settled.
/// "samples": their largest number is there, and it is not.
/// Nothing: go on.
std::optional<std::string_view> why_stop(std::span<const double> samples_ms, double seconds,
                                         const TimingOptions& options);

/// Whether there are the options' least blocks, relative_median_error_of_blocks() is
/// at most options.max_noise, and the medians of the first and the second half differ by no more
/// than twice that, as they would by chance: a clock that still falls makes a series that is quiet,
/// and wrong. False for NaN.
bool is_settled(std::span<const double> samples_ms, const TimingOptions& options);

}  // namespace sparkbench
