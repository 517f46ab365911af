// When enough samples have been taken, and why.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

/// "time": the time limit is reached, however few the samples. "noise": the method's least time and
/// number of samples have passed, and the median is settled. "samples": the largest number of
/// samples is reached, and the median is not settled. Empty: continue.
std::optional<std::string_view> why_stop(std::span<const double> samples_ms, double seconds,
                                         const Method& method);

/// Whether there are the method's least number of blocks, relative_median_error_of_blocks() is at
/// most method.max_noise, and the medians of the first and the second half differ by at most twice
/// that, as they would by chance. The last condition catches a clock that still falls: its series
/// has little noise but a wrong median. False for NaN.
bool is_settled(std::span<const double> samples_ms, const Method& method);

}  // namespace sparkbench
