// sparkbench run: one problem, every chosen kernel, all that is known of each.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "harness/commands/measuring_command.h"
#include "harness/session/case_report.h"
#include "results/record/case_id.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// Without a preset the axes that are lists in "quick" come down to one value each.
void choose_one_problem(SweepOptions& options) {
  if (!options.preset.empty()) return;
  const GridAxes quick = make_grid_axes(find_preset("quick").flags, {}, {});
  for (const Axis* axis : problem_axes()) {
    if (quick.values.at(axis->name).size() == 1 || are_given(options.axes, *axis) ||
        are_replaced(options.axes, *axis)) {
      continue;
    }
    options.axes[axis->flag] = axis->initial;
  }
}

/// "--seqlen (256, 512), --mask (full, causal)": the axes on which the cases differ.
std::string varying_axes(const std::vector<SweepCase>& cases, const AxisFlags& flags) {
  std::vector<std::string> varying;
  for (const Axis* axis : problem_axes()) {
    // What is derived from another axis differs as that does.
    if (axis->derive != nullptr && !are_given(flags, *axis)) continue;
    std::vector<std::string> values;
    for (const SweepCase& sweep_case : cases) {
      const std::string value = text_of_value(axis->access.get(sweep_case.problem));
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    if (values.size() < 2) continue;
    varying.push_back(fmt::format("{} ({})", axis->flag, fmt::join(values, ", ")));
  }
  return fmt::format("{}", fmt::join(varying, ", "));
}

/// Throws UsageError unless all cases are of one problem.
void require_one_problem(const std::vector<SweepCase>& cases, const SweepOptions& options) {
  std::set<std::string> problems;
  for (const SweepCase& sweep_case : cases) problems.insert(make_problem_key(sweep_case.problem));
  if (problems.size() > 1) {
    throw UsageError(
        fmt::format("run takes one problem, the flags describe {}: give one value of {}",
                    problems.size(), varying_axes(cases, options.axes)));
  }
}

}  // namespace

void add_run_command(CLI::App& program, const Invocation& invocation, Action& action) {
  const auto report = [](const RunRecord& run, const TableView& view, std::ostream& out) {
    out << wrapped_report(format_run_head(run), view);
    for (const CaseRecord& record : run.cases) {
      out << '\n' << wrapped_report(format_case_report(record), view);
    }
  };
  add_measuring_command(program, invocation, action,
                        {.name = "run",
                         .is_timed = true,
                         .times_parts = true,
                         .takes_tensors = true,
                         .saves_outputs = true,
                         .complete_options = choose_one_problem,
                         .check_cases = require_one_problem,
                         .report = report,
                         .has_tables = false});
}

}  // namespace sparkbench
