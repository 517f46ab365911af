// sparkbench sweep: verify and time every case of a grid.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "harness/commands.h"
#include "results/case_table.h"
#include "results/summary.h"

namespace sparkbench {
namespace {

ExitCode run_sweep_command(const SweepRequest& request, const Streams& streams) {
  const auto device = open_device(request.options.device);
  const std::vector<SweepCase> cases = plan_sweep(request, *device);
  if (request.options.is_dry_run) {
    list_cases(cases, streams.out);
    return ExitCode::kOk;
  }
  const RunRecord run = run_sweep(request, *device, cases, streams);
  write_outputs(request.options, run, streams);
  if (!request.options.is_quiet) {
    std::ostream& table = report_stream(request.options, streams);
    table << format_case_table(run, TableStyle::kTerminal) << '\n'
          << format_summary(run, TableStyle::kTerminal);
  }
  if (!run.run.complete) {
    streams.err << "Stopped after " << run.cases.size() << " of " << cases.size() << " cases"
                << (request.options.out_folder.empty()
                        ? ""
                        : "; they are saved in " + request.options.out_folder)
                << '\n';
  }
  return exit_code_of(run);
}

}  // namespace

void add_sweep_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("sweep", "Verify and time every case of a grid");
  const auto options = std::make_shared<SweepOptions>();
  add_sweep_flags(*command, *options);
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] {
      return run_sweep_command({*options, "quick", true, invocation.argv}, invocation.streams);
    };
  });
}

}  // namespace sparkbench
