// sparkbench run: one problem, every chosen kernel, all that is known of each.
#include <fmt/format.h>

#include <ostream>
#include <set>

#include "harness/cases/case_start.h"
#include "harness/commands/measuring_command.h"
#include "harness/session/case_report.h"
#include "results/record/case_id.h"
#include "results/record/enum_names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// Without a preset the axes that are lists in "quick" come down to one value each.
void choose_one_problem(SweepOptions& options) {
  if (!options.preset.empty()) return;
  AxisFlags& axes = options.axes;
  if (!axes.head_dim) axes.head_dim = "64";
  if (!axes.seqlen) axes.seqlen = "256";
  if (!axes.causal) axes.causal = "false";
  if (!axes.dropout) axes.dropout = "0";
}

/// "--seqlen (256, 512), --causal (false, true)": the axes on which the cases differ.
std::string varying_axes(const std::vector<SweepCase>& cases, const AxisFlags& flags) {
  std::vector<std::string> axes;
  const auto add = [&](const char* flag, auto value_of) {
    std::set<decltype(value_of(cases.front()))> values;
    for (const SweepCase& sweep_case : cases) values.insert(value_of(sweep_case));
    if (values.size() > 1) axes.push_back(fmt::format("{} ({})", flag, fmt::join(values, ", ")));
  };
  add("--pass", [](const SweepCase& each) { return name_of(each.pass); });
  add("--headdim", [](const SweepCase& each) { return each.problem.head_dim; });
  add("--seqlen", [](const SweepCase& each) { return each.problem.seqlen_q; });
  if (flags.seqlen_k)
    add("--seqlen-k", [](const SweepCase& each) { return each.problem.seqlen_k; });
  add("--mask", [](const SweepCase& each) { return name_of(each.problem.mask); });
  add("--dropout", [](const SweepCase& each) { return each.problem.dropout_p; });
  add("--input", [](const SweepCase& each) { return each.input; });
  add("--input-scale", [](const SweepCase& each) { return each.input_scale; });
  return fmt::format("{}", fmt::join(axes, ", "));
}

/// Throws UsageError unless all cases are of one problem.
void require_one_problem(const std::vector<SweepCase>& cases, const SweepOptions& options) {
  std::set<std::string> problems;
  for (const SweepCase& sweep_case : cases) {
    problems.insert(make_problem_key(problem_record(sweep_case)));
  }
  if (problems.size() > 1) {
    throw UsageError(
        fmt::format("run takes one problem, the flags describe {}: give one value of {}",
                    problems.size(), varying_axes(cases, options.axes)));
  }
}

}  // namespace

void add_run_command(CLI::App& program, const Invocation& invocation, Action& action) {
  const auto report = [](const RunRecord& run, std::ostream& out) {
    out << format_run_head(run);
    for (const CaseRecord& record : run.cases) out << '\n' << format_case_report(record);
  };
  add_measuring_command(program, invocation, action,
                        {.name = "run",
                         .help = "Measure one problem and tell everything",
                         .is_timed = true,
                         .takes_tensors = true,
                         .saves_outputs = true,
                         .complete_options = choose_one_problem,
                         .check_cases = require_one_problem,
                         .report = report});
}

}  // namespace sparkbench
