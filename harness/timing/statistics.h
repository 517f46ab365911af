// Statistics of a series of samples; for the median's error see results/study/median_error.h.
#pragma once

#include <span>

#include "results/record/case_record.h"
#include "results/study/median_error.h"

namespace sparkbench {

/// Median, mean, extremes, sample standard deviation and quartiles (linear interpolation between
/// order statistics). The samples are kept. Throws std::invalid_argument for an empty series.
TimeMs summarize_samples(std::span<const double> samples_ms);

/// Sample standard deviation / mean; 0 for fewer than two samples.
double relative_deviation(std::span<const double> samples);

/// |median of the second half - median of the first half| / median of all; the middle sample of an
/// odd count is in neither. 0 for fewer than two samples.
double relative_drift(std::span<const double> samples);

}  // namespace sparkbench
