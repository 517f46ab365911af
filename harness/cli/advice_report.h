// What `advise` says of one problem: which kernel, what it takes, when not to use it, what PyTorch
// has, how to switch.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Ten facts, a name and a text each, below a line with the device and the problem's flags. `run`
/// has one problem. `why_no_pytorch` says why PyTorch's kernels are not among its cases; empty
/// where they are.
std::string format_advice(const RunRecord& run, const std::string& why_no_pytorch,
                          const TableView& view);

}  // namespace sparkbench
