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

/// The instructions of the path in memory order: cycles that a warp waits before each beyond the
/// stall count, the code, for what, the control field. Only the 25 that wait longest, or `is_full`.
std::string annotated_code(const SassFunction& function, const LoopPrediction& prediction,
                           bool is_full, const TableView& view = {});

}  // namespace sparkbench
