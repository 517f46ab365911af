// Converts the flags of `sparkbench predict` to a request about a function.
#pragma once

#include "harness/cli/predict_code.h"
#include "harness/model/sm/loop_prediction.h"

namespace sparkbench {

/// Throws UsageError, naming the flag, for something that the function does not have, and for bad
/// values.
PredictionRequest prediction_request(const CodePredictionOptions& options,
                                     const SassFunction& function);

}  // namespace sparkbench
