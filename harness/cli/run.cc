// sparkbench run: one problem, every chosen kernel, all facts about each.
#include <ostream>

#include "harness/cli/measuring_command.h"
#include "harness/run/case_report.h"

namespace sparkbench {

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
                         .takes_one_problem = true,
                         .times_parts = true,
                         .takes_tensors = true,
                         .saves_outputs = true,
                         .report = report,
                         .has_tables = false});
}

}  // namespace sparkbench
