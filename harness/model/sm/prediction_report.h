// A prediction for people, and for programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/model/sm/loop_prediction.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Each function for sm_70 with its loops: where, how long, how much tensor work.
std::string format_functions(std::span<const SassFunction> functions, const TableView& view = {});
std::string format_functions_json(std::span<const SassFunction> functions);

std::string format_prediction(const SassFunction& function, const PredictionRequest& request,
                              const LoopPrediction& prediction, const TableView& view = {});

/// Constants that move the prediction by less than 0.5 % are left out.
std::string format_sensitivity(std::span<const ConstantSensitivity> changes);

/// One document; `changes` is empty where they were not asked for.
std::string format_prediction_json(const SassFunction& function, const PredictionRequest& request,
                                   const LoopPrediction& prediction,
                                   std::span<const ConstantSensitivity> changes);

}  // namespace sparkbench
