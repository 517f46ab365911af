// Averages over those cases of a run that may be averaged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// exp(mean(log(value))). None if there is no value, or if one is not a positive finite number.
std::optional<double> geometric_mean(const std::vector<double>& values);

/// The largest value, with NaN larger than any number; none if there is no value.
std::optional<double> largest(const std::vector<double>& values);

/// rel_l1 of a case's output, or the largest over its three gradients; none if not verified.
std::optional<double> worst_rel_l1(const CaseRecord& record);

/// Names of the kernels with that role, in the order of their first case.
std::vector<std::string> kernels_of(const std::vector<CaseRecord>& cases, Role role);

struct ErrorMean {
  double ratio = 0.0;  // geometric mean
  int count = 0;       // cases
  int without = 0;     // correct cases without a ratio: the unfused computation is not finite, or
                       // an older version stored none for their accumulator
};

/// For encoder layers.
struct LayerErrorMean {
  double attention = 0.0;  // geometric mean, for the attention stage given exact inputs
  double most = 0.0;       // over all parts of all cases
};

/// LayerError::over_unfused over the correct layers of `kernel`; none if no attention stage has an
/// error relative to the unfused layer's. A layer's output says little about its attention: the
/// rest of the layer rounds too, and may be fused.
std::optional<LayerErrorMean> mean_layer_error(const std::vector<CaseRecord>& cases,
                                               const std::string& kernel);

/// Mean of worst_error_over_unfused() over the correct cases of `kernel`; none if no case has one.
/// Cases without any error are left out.
std::optional<ErrorMean> mean_error_over_unfused(const std::vector<CaseRecord>& cases,
                                                 const std::string& kernel);

}  // namespace sparkbench
