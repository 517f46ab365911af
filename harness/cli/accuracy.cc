// sparkbench accuracy: FP16-ACC against FP32-ACC against the unfused computation, without timing.
#include <ostream>
#include <utility>

#include "harness/cli/measuring_command.h"
#include "results/render/accuracy_table.h"
#include "results/render/summary.h"
#include "results/render/tensors_read.h"
#include "results/study/accuracy_advice.h"
#include "results/study/accuracy_axes.h"
#include "results/study/accuracy_breaks.h"
#include "results/study/case_filter.h"

namespace sparkbench {
namespace {

void print_tables(const RunRecord& run, const TableView& view, std::ostream& out) {
  for (const auto& format : {format_accuracy_table, format_accuracy_axes, format_accuracy_breaks}) {
    const std::string block = format(run, view);
    if (!block.empty()) out << block << '\n';
  }
}

void print_tables_by_axis(const RunRecord& run, const TableView& view, std::ostream& out) {
  RunRecord part = run;
  for (CaseGroup& group : groups_by(view.by, run.cases)) {
    out << inked(view.by + " " + group.value, Ink::kStrong, view) << "\n\n";
    part.cases = std::move(group.cases);
    print_tables(part, view, out);
  }
}

}  // namespace

void add_accuracy_command(CLI::App& program, const Invocation& invocation, Action& action) {
  const auto report_type = [](const RunRecord& run, const TableView& view, std::ostream& out) {
    if (const std::string line = tensors_line(run); !line.empty()) out << line << '\n';
    if (view.by.empty()) {
      print_tables(run, view, out);
    } else {
      print_tables_by_axis(run, view, out);
    }
    out << wrapped(format_accuracy_advice(run), view) << "\n\n"
        << format_summary(run, view) << '\n'
        << inked(wrapped(format_recommendation(run), view), Ink::kStrong, view) << '\n';
  };
  // The mean over both types would say nothing of either.
  const auto report = [report_type](const RunRecord& run, const TableView& view,
                                    std::ostream& out) {
    std::vector<CaseGroup> types = groups_by("dtype", run.cases);
    if (types.size() < 2) return report_type(run, view, out);
    RunRecord part = run;
    for (CaseGroup& type : types) {
      out << inked("dtype " + type.value, Ink::kStrong, view) << "\n\n";
      part.cases = std::move(type.cases);
      report_type(part, view, out);
    }
  };
  add_measuring_command(program, invocation, action,
                        {.name = "accuracy",
                         .is_timed = false,
                         .takes_tensors = true,
                         .report = report,
                         .has_case_table = false});
}

}  // namespace sparkbench
