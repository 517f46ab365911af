// What a series of samples says.
#pragma once

#include <span>
#include <vector>

#include "results/record/case_record.h"

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

/// Medians of consecutive blocks of so many samples; an incomplete one at the end is left out.
std::vector<double> block_medians(std::span<const double> samples, int block_samples);

/// relative_median_error() of the samples or of their block_medians(), whichever is larger. Samples
/// that are taken one after the other see the same clock, and say less than as many apart: a card
/// whose clock swings gives blocks that are quiet, and far from each other.
double relative_median_error_of_blocks(std::span<const double> samples, int block_samples);

/// |median of the second half - median of the first half| / median of all; the middle sample of an
/// odd count is in neither. 0 for fewer than two samples.
double relative_drift(std::span<const double> samples);

}  // namespace sparkbench
