// The stages of encoder layers: where their time goes.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// A row for each layer with a time, measured or else predicted: of each stage its milliseconds,
/// and the errors of each that was verified. "" without any.
std::string format_layer_table(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
