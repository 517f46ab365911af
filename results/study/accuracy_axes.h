// How an error depends on what was asked: on the length, the mask, dropout.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// A block per study (results/study/accuracy_study.h) of several problems: a line per value of each
/// axis that varies but head_dim (results/render/accuracy_table.h has that), a column per kernel,
/// in it the mean rel_l1 in percent over the problems of that value. "" when no axis varies.
std::string format_accuracy_axes(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
