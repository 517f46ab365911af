// What the flags of `sparkbench predict` ask of a function.
#pragma once

#include "harness/commands/predict_code.h"
#include "harness/cycles/loop_prediction.h"

namespace sparkbench {

/// Throws UsageError, naming the flag, for what the function does not have, and for bad values.
PredictionRequest prediction_request(const CodePredictionOptions& options,
                                     const SassFunction& function);

}  // namespace sparkbench
