// sparkbench judge: whether a kernel is right, which cases are wrong, and how it compares, on one
// page.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "harness/cli/measuring_command.h"
#include "results/render/judgement.h"

namespace sparkbench {
namespace {

/// The kernels that were named: those with a case outside of the comparison of times.
std::vector<std::string> judged_kernels(const RunRecord& run) {
  std::vector<std::string> kernels;
  for (const CaseRecord& record : run.cases) {
    if (compares_times(record)) continue;
    if (std::ranges::find(kernels, record.kernel) == kernels.end())
      kernels.push_back(record.kernel);
  }
  return kernels;
}

}  // namespace

void add_judge_command(CLI::App& program, const Invocation& invocation, Action& action) {
  MeasuringCommand command{.name = "judge", .is_timed = true};
  command.has_tables = false;
  command.add_flags = [](CLI::App& app, SweepOptions& options) {
    options.preset = "judge";
    options.method.min_seconds = 0.1;  // most of its many cases are small
    options.seed = 5'000'000'000;      // a kernel that takes its lower half alone drops others
    for (const char* const flag : {"--seed", "--min-seconds"}) {
      app.get_option(flag)->capture_default_str();
    }
    app.get_option("--kernel")->required();
    app.get_option("--json")->description("write the judgement as JSON; --out stores the run");
    app.get_option("--html")->description("write the judgement as a page for a browser");
  };
  command.formats.json = [](const RunRecord& run) {
    return judgement_json(run, judged_kernels(run));
  };
  command.formats.html = [](const RunRecord& run) {
    return judgement_page(run, judged_kernels(run));
  };
  command.report = [](const RunRecord& run, const TableView& view, std::ostream& out) {
    const char* gap = "";
    for (const std::string& kernel : judged_kernels(run)) {
      out << gap << format_judgement(run, kernel, view);
      gap = "\n";
    }
  };
  add_measuring_command(program, invocation, action, std::move(command));
}

}  // namespace sparkbench
