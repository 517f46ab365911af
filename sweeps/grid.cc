#include "sweeps/grid.h"

namespace sparkbench {
namespace {

/// Every problem that has `problem`'s values of the axes before these.
void append_problems(const GridAxes& grid, std::span<const Axis* const> axes, CaseProblem& problem,
                     std::vector<CaseProblem>& problems) {
  if (axes.empty()) return problems.push_back(problem);
  const Axis& axis = *axes.front();
  for (const AxisValue& value : grid.values.at(axis.name)) {
    if (is_none(value)) {
      axis.derive(problem, grid.totals);
    } else {
      axis.access.set(problem, value);
    }
    append_problems(grid, axes.subspan(1), problem, problems);
  }
}

}  // namespace

std::vector<SweepCase> expand_grid(const GridAxes& grid, std::uint64_t seed) {
  CaseProblem problem;
  problem.seed = seed;
  std::vector<CaseProblem> problems;
  append_problems(grid, problem_axes(), problem, problems);
  std::vector<SweepCase> cases;
  for (const CaseProblem& each : problems) {
    for (const std::string& kernel : grid.kernels) cases.push_back({kernel, each});
  }
  return cases;
}

}  // namespace sparkbench
