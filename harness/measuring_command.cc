#include "harness/measuring_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <utility>

namespace sparkbench {
namespace {

void tell_where_it_stopped(const RunRecord& run, std::size_t planned, const SweepRequest& request,
                           std::ostream& err) {
  if (run.run.complete) return;
  const std::string& folder = request.options.out_folder;
  err << "Stopped after " << run.cases.size() << " of " << planned << " cases"
      << (folder.empty() ? "" : "; they are saved in " + folder) << '\n';
}

ExitCode measure(const MeasuringCommand& command, const SweepRequest& request,
                 const Streams& streams) {
  const SweepOptions& options = request.options;
  const auto device = open_device(options.device);
  const std::vector<SweepCase> cases = plan_sweep(request, *device);
  if (command.check_cases) command.check_cases(cases, options);
  if (options.is_dry_run) {
    list_cases(cases, streams.out);
    return ExitCode::kOk;
  }
  const RunRecord run = run_sweep(request, *device, cases, streams);
  write_outputs(options, run, streams);
  if (!options.is_quiet) command.report(run, report_stream(options, streams));
  tell_where_it_stopped(run, cases.size(), request, streams.err);
  return exit_code_of(run);
}

}  // namespace

void add_measuring_command(CLI::App& program, const Invocation& invocation, Action& action,
                           MeasuringCommand command) {
  CLI::App* subcommand = program.add_subcommand(command.name, command.help);
  const auto options = std::make_shared<SweepOptions>();
  add_sweep_flags(*subcommand, *options);
  subcommand->callback([options, command = std::move(command), &invocation, &action] {
    action = [options, command, &invocation] {
      if (command.complete_options) command.complete_options(*options);
      return measure(command, {*options, "quick", command.is_timed, invocation.argv},
                     invocation.streams);
    };
  });
}

}  // namespace sparkbench
