// The stages of encoder layers: the breakdown of their time.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// One row for each layer with a time, measured or else predicted: the milliseconds of each stage,
/// and the errors of each verified stage. "" if there are none.
std::string format_layer_table(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
