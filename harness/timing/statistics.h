// What a series of samples says.
#pragma once

#include <span>

#include "results/case_record.h"

namespace sparkbench {

/// Median, mean, extremes, sample standard deviation and quartiles (linear interpolation between
/// order statistics). The samples are kept. Throws std::invalid_argument for an empty series.
TimeMs summarize_samples(std::span<const double> samples_ms);

/// With an even count, halfway between the two in the middle. Throws std::invalid_argument for an
/// empty series.
double median_of(std::span<const double> samples);

/// Sample standard deviation / mean; 0 for fewer than two samples.
double relative_deviation(std::span<const double> samples);

/// Standard error of the median / median, from the quartiles: what normal samples with that
/// interquartile range would have. Unlike the mean's it is not carried away by a few outliers. 0
/// for fewer than two samples.
double relative_median_error(std::span<const double> samples);

/// |median of the second half - median of the first half| / median of all; the middle sample of an
/// odd count is in neither. 0 for fewer than two samples.
double relative_drift(std::span<const double> samples);

}  // namespace sparkbench
