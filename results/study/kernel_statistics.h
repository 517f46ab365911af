// Averages over the cases of a run that may be averaged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// exp(mean(log(value))). None when there is no value, or one is not a positive finite number.
std::optional<double> geometric_mean(const std::vector<double>& values);

/// The largest value, NaN being larger than any; none when there is no value.
std::optional<double> largest(const std::vector<double>& values);

/// rel_l1 of a case's output, or the largest of its three gradients'; none when not verified.
std::optional<double> worst_rel_l1(const CaseRecord& record);

/// Names of the kernels of that role, in the order of their first case.
std::vector<std::string> kernels_of(const std::vector<CaseRecord>& cases, Role role);

struct ErrorMean {
  double ratio = 0.0;  // geometric mean
  int count = 0;       // cases
  int without = 0;     // correct cases without a ratio: the unfused computation is not finite, or
                       // they were stored by a version that had none for their accumulator
};

/// Of encoder layers.
struct LayerErrorMean {
  double attention = 0.0;  // geometric mean, of the attention stage given exact inputs
  double most = 0.0;       // of all parts of all cases
};

/// LayerError::over_unfused over the correct layers of `kernel`; none where no attention stage has
/// an error beside the unfused layer's. A layer's output says little of its attention: the rest of
/// the layer rounds too, and may be fused.
std::optional<LayerErrorMean> mean_layer_error(const std::vector<CaseRecord>& cases,
                                               const std::string& kernel);

/// Of worst_error_over_unfused(), over the correct cases of `kernel`; none when no such case has
/// one. A case without any error is left out.
std::optional<ErrorMean> mean_error_over_unfused(const std::vector<CaseRecord>& cases,
                                                 const std::string& kernel);

}  // namespace sparkbench
