// Machine code with what its instructions wait for beside it.
#pragma once

#include <string>

#include "harness/model/sm/loop_prediction.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// The instructions of the path in memory order: cycles that a warp waits before each beyond the
/// stall count, the code, for what, the control field. Only the 25 that wait longest, or `is_full`.
std::string annotated_code(const SassFunction& function, const LoopPrediction& prediction,
                           bool is_full, const TableView& view = {});

}  // namespace sparkbench
