// The median of a series of samples, and how far off it may be.
#pragma once

#include <span>
#include <vector>

namespace sparkbench {

struct Quartiles {
  double q1 = 0, median = 0, q3 = 0;
};

/// Linear interpolation between order statistics. Throws std::invalid_argument for an empty series.
Quartiles quartiles_of(std::span<const double> samples);

/// With an even count, halfway between the two in the middle. Throws std::invalid_argument for an
/// empty series.
double median_of(std::span<const double> samples);

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

}  // namespace sparkbench
