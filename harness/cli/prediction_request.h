// What the flags of `sparkbench predict` ask of a function.
#pragma once

#include "harness/cli/predict_code.h"
#include "harness/model/sm/loop_prediction.h"

namespace sparkbench {

/// Throws UsageError, naming the flag, for what the function does not have, and for bad values.
PredictionRequest prediction_request(const CodePredictionOptions& options,
                                     const SassFunction& function);

}  // namespace sparkbench
