// The dependence of an error on the problem: on length, mask and dropout.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// One block per study (results/study/accuracy_study.h) with several problems: a line per value of
/// each axis that varies, except head_dim (see results/render/accuracy_table.h), and a column per
/// kernel with the mean rel_l1 in percent over the problems with that value. "" if no axis varies.
std::string format_accuracy_axes(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
