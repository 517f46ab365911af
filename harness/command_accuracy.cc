// sparkbench accuracy: FP16-ACC against FP32-ACC against the unfused computation, without timing.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "harness/commands.h"
#include "results/accuracy_advice.h"
#include "results/accuracy_table.h"
#include "results/summary.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

ExitCode run_accuracy_command(const SweepRequest& request, const Streams& streams) {
  if (request.options.skips_verification) {
    throw UsageError("--no-verify: accuracy has nothing else to do than to verify");
  }
  const auto device = open_device(request.options.device);
  const std::vector<SweepCase> cases = plan_sweep(request, *device);
  if (request.options.is_dry_run) {
    list_cases(cases, streams.out);
    return ExitCode::kOk;
  }
  const RunRecord run = run_sweep(request, *device, cases, streams);
  write_outputs(request.options, run, streams);
  if (!request.options.is_quiet) {
    report_stream(request.options, streams)
        << format_accuracy_table(run, TableStyle::kTerminal) << '\n'
        << format_accuracy_advice(run) << "\n\n"
        << format_summary(run, TableStyle::kTerminal);
  }
  return exit_code_of(run);
}

}  // namespace

void add_accuracy_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command =
      program.add_subcommand("accuracy", "Compare the errors of the accumulators, untimed");
  const auto options = std::make_shared<SweepOptions>();
  add_sweep_flags(*command, *options);
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] {
      return run_accuracy_command({*options, "quick", false, invocation.argv}, invocation.streams);
    };
  });
}

}  // namespace sparkbench
