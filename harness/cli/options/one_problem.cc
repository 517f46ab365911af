#include "harness/cli/options/one_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "results/record/case_id.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// "--seqlen (256, 512), --mask (full, causal)": the axes in which the cases differ.
std::string varying_axes(const std::vector<SweepCase>& cases, const AxisFlags& flags) {
  std::vector<std::string> varying;
  for (const Axis* axis : problem_axes()) {
    // An axis derived from another one differs because that one does.
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

}  // namespace

void choose_one_problem(SweepOptions& options) {
  if (!options.takes_one_problem || !options.preset.empty()) return;
  for (const Axis* axis : problem_axes()) {
    if (are_given(options.axes, *axis) || are_replaced(options.axes, *axis)) continue;
    const std::string first = first_by_default(*axis);
    if (first != axis->initial) options.axes[axis->flag] = first;
  }
}

void require_one_problem(const std::vector<SweepCase>& cases, const SweepOptions& options) {
  if (!options.takes_one_problem) return;
  std::set<std::string> problems;
  for (const SweepCase& sweep_case : cases) problems.insert(make_problem_key(sweep_case.problem));
  if (problems.size() > 1) {
    throw UsageError(
        fmt::format("this command takes one problem, the flags describe {}: give one value of {}",
                    problems.size(), varying_axes(cases, options.axes)));
  }
}

}  // namespace sparkbench
