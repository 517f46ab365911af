// Commands about one problem: `run`, `advise`.
#pragma once

#include <vector>

#include "harness/cli/options/sweep_options.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// Gives each axis without a flag the first of its defaults, if the command takes one problem and
/// no preset is given.
void choose_one_problem(SweepOptions& options);

/// Throws UsageError if the command takes one problem and the cases have several; the error names
/// the axes in which they differ.
void require_one_problem(const std::vector<SweepCase>& cases, const SweepOptions& options);

}  // namespace sparkbench
