// The report of `advise` on one problem: which kernel, its time, when not to use it, PyTorch's
// alternative, and how to switch.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Ten facts, a name and a text each, below a line with the device and the problem's flags. `run`
/// has one problem. `why_no_pytorch` says why PyTorch's kernels are not among its cases; empty if
/// they are.
std::string format_advice(const RunRecord& run, const std::string& why_no_pytorch,
                          const TableView& view);

}  // namespace sparkbench
