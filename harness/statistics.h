// What a series of samples says.
#pragma once

#include <span>

#include "results/case_record.h"

namespace sparkbench {

/// Median, mean, extremes, sample standard deviation and quartiles (linear interpolation between
/// order statistics). The samples are kept. Throws std::invalid_argument for an empty series.
TimeMs summarize_samples(std::span<const double> samples_ms);

/// Sample standard deviation / mean; 0 for fewer than two samples.
double relative_deviation(std::span<const double> samples);

/// relative_deviation / sqrt(count): the doubt of the mean.
double relative_standard_error(std::span<const double> samples);

}  // namespace sparkbench
