#include "sweeps/grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "sweeps/layer_axes.h"
#include "sweeps/lengths.h"
#include "sweeps/masks.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// Throws UsageError for a value that the problem's other values rule out.
void set_value(const Axis& axis, const AxisValue& value, CaseProblem& problem) {
  try {
    axis.access.set(problem, value);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}", axis.flag, error.what()));
  }
}

/// Appends every problem with `problem`'s values for the axes before these.
void append_problems(const GridAxes& grid, std::span<const Axis* const> axes, CaseProblem& problem,
                     std::vector<CaseProblem>& problems) {
  if (axes.empty()) {
    problems.push_back(problem);
    if (problem.lengths_spec) set_lengths(problems.back());
    return;
  }
  const Axis& axis = *axes.front();
  for (const AxisValue& value : grid.values.at(axis.name)) {
    if (!is_none(value)) {
      set_value(axis, value, problem);
    } else if (axis.derive != nullptr) {  // otherwise the lengths determine it
      axis.derive(problem, grid.totals);
    }
    append_problems(grid, axes.subspan(1), problem, problems);
  }
}

/// Throws UsageError if the grid is too large to plan: every case gets a record.
void require_possible(const GridAxes& grid, std::span<const Axis* const> axes) {
  double cases = static_cast<double>(grid.kernels.size());
  std::string factors = fmt::format("{} kernels", grid.kernels.size());
  for (const Axis* axis : axes) {
    const std::size_t values = grid.values.at(axis->name).size();
    cases *= static_cast<double>(values);
    if (values > 1) factors += fmt::format(", {} {}", values, axis->flag);
  }
  if (cases <= kMaxCases) return;
  throw UsageError(
      fmt::format("the flags describe {:.0f} cases ({}); allowed: at most {}; give "
                  "fewer values, or sweep them one after the other",
                  cases, factors, kMaxCases));
}

/// Throws UsageError for sequences that a layer cannot have.
void require_layers(const std::vector<CaseProblem>& problems) {
  for (const CaseProblem& problem : problems) {
    if (!problem.layer || !problem.lengths) continue;
    if (why_no_layer(*problem.layer, problem).empty()) continue;
    throw UsageError(
        fmt::format("--lengths: '{}' has a sequence with other keys than rows; an encoder layer's "
                    "have as many: allowed: one length a line",
                    *problem.lengths_spec));
  }
}

}  // namespace

std::vector<SweepCase> expand_grid(const GridAxes& grid, std::uint64_t seed) {
  const std::vector<const Axis*> axes =
      problem_axes_of(grid.is_of_layers ? Workload::kLayer : Workload::kAttention);
  require_possible(grid, axes);
  CaseProblem problem;
  problem.seed = seed;
  std::vector<CaseProblem> problems;
  append_problems(grid, axes, problem, problems);
  lay_patterns(problems);
  require_layers(problems);
  std::vector<SweepCase> cases;
  for (const CaseProblem& each : problems) {
    for (const std::string& kernel : grid.kernels) cases.push_back({kernel, each});
  }
  return cases;
}

bool has_backward(const std::vector<SweepCase>& cases) {
  return std::any_of(cases.begin(), cases.end(),
                     [](const SweepCase& each) { return each.problem.pass != Pass::kForward; });
}

}  // namespace sparkbench
