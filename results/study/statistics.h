// Statistics of a series of samples, and the error of its median.
#pragma once

#include <span>
#include <vector>

#include "results/record/case_record.h"

namespace sparkbench {

struct Quartiles {
  double q1 = 0, median = 0, q3 = 0;
};

/// Linear interpolation between order statistics. Throws std::invalid_argument for an empty series.
Quartiles quartiles_of(std::span<const double> samples);

/// With an even count, the middle of the two central samples. Throws std::invalid_argument for an
/// empty series.
double median_of(std::span<const double> samples);

/// Standard error of the median / median, from the quartiles: that of normal samples with the same
/// interquartile range. Unlike the mean's, a few outliers hardly change it. 0 for fewer than two
/// samples.
double relative_median_error(std::span<const double> samples);

/// Medians of consecutive blocks of so many samples; an incomplete last block is left out.
std::vector<double> block_medians(std::span<const double> samples, int block_samples);

/// The larger relative_median_error() of the samples and of their block_medians(). Consecutive
/// samples share the clock and carry less information than independent ones. A card whose clock
/// oscillates has blocks with little spread that differ from each other.
double relative_median_error_of_blocks(std::span<const double> samples, int block_samples);

/// Median, mean, extremes, sample standard deviation and quartiles (linear interpolation between
/// order statistics). The samples are kept. Throws std::invalid_argument for an empty series.
TimeMs summarize_samples(std::span<const double> samples_ms);

/// Sample standard deviation / mean; 0 for fewer than two samples.
double relative_deviation(std::span<const double> samples);

/// |median of the second half - median of the first half| / median of all; the middle sample of an
/// odd count is in neither. 0 for fewer than two samples.
double relative_drift(std::span<const double> samples);

}  // namespace sparkbench
