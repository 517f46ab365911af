#include "harness/cli/measuring_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <utility>

#include "harness/cli/options/one_problem.h"
#include "harness/devices/device_list.h"
#include "harness/plan/dry_run.h"
#include "harness/run/nothing_ran.h"
#include "harness/run/run_files.h"
#include "harness/run/sweep_session.h"
#include "harness/run/workers/worker.h"
#include "harness/run/workers/worker_pool.h"
#include "results/record/safe_text.h"
#include "results/store/output_file.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

void tell_where_it_stopped(const SweepResult& result, const SweepRequest& request,
                           std::ostream& err) {
  if (result.run.run.complete) return;
  const std::string line = resume_line(request);
  err << fmt::format("Stopped after {} of {} cases{}\n", result.run.cases.size(), result.planned,
                     line.empty() ? "" : "; to finish the rest: " + line);
}

void tell_cost_of_saving(const PlannedSweep& sweep, const SweepOptions& options,
                         std::ostream& err) {
  if (options.files.outputs.empty() || options.is_quiet) return;
  const std::string cost = cost_of_saving(sweep.plan().cases.front().problem, sweep.device());
  if (!cost.empty()) err << cost << '\n';
}

/// An empty selection by --where is reported, and the files are written anyway.
void report_to_people(const MeasuringCommand& command, const SweepOptions& options,
                      const RunRecord& run, const Streams& streams) {
  std::ostream& out = report_stream(options.files, streams);
  try {
    command.report(shown_part(options.table, run), table_view(options.table, out), out);
  } catch (const UsageError& error) {
    streams.err << "sparkbench: " << bounded(one_line(error.what())) << "; nothing to show\n";
  }
}

ExitCode run_and_report(const MeasuringCommand& command, const SweepRequest& request,
                        CaseExecutor& executor, const Streams& streams) {
  const SweepOptions& options = request.options;
  RunsBeside runs = runs_beside(options);
  if (command.formats.are_own())
    std::swap(runs.own, runs.read);  // --json is then no run's run.json
  check_outputs(options.files, runs, options.tensors_file);
  SweepResult result = run_sweep(request, executor, streams);
  if (command.add_cases) command.add_cases(result.run);
  if (!options.is_quiet) report_to_people(command, options, result.run, streams);
  tell_where_it_stopped(result, request, streams.err);
  for (const std::string& why : why_nothing_ran(result.run)) {
    streams.err << "sparkbench: " << why << '\n';
  }
  write_outputs(options.files, result.run, streams, command.formats);
  save_outputs(options.files.outputs, result, streams);
  if (command.write_more) command.write_more(result.run);
  return exit_code_of(result.run);
}

/// Runs cases in this process, one after the other: nothing shields it from what they do.
class LocalCases : public CaseExecutor {
 public:
  explicit LocalCases(PlannedSweep& sweep) : sweep_(sweep) {}

  const RunRecord& plan() const override { return sweep_.plan(); }
  void run(const std::vector<std::size_t>& positions, CaseEvents& events) override {
    for (const std::size_t position : positions) {
      if (events.is_stopped()) return;
      events.began(plan().cases[position]);
      events.ended(sweep_.run(position));
    }
  }
  std::optional<PassOutputs> take_outputs() override { return sweep_.take_outputs(); }

 private:
  PlannedSweep& sweep_;
};

ExitCode measure_in_process(const MeasuringCommand& command, const SweepRequest& request,
                            const std::string& device, const Streams& streams) {
  PlannedSweep sweep(request, device);
  if (request.options.is_profiled && sweep.device().info().kind != DeviceKind::kGpu) {
    throw UsageError(
        fmt::format("--profile: {} is no GPU, and no profiler sees it; allowed: "
                    "--device cuda:N",
                    sweep.device().name()));
  }
  if (request.options.is_dry_run) {
    report_dry_run(sweep, request, streams);
    return ExitCode::kOk;
  }
  tell_cost_of_saving(sweep, request.options, streams.err);
  LocalCases cases(sweep);
  return run_and_report(command, request, cases, streams);
}

ExitCode measure(const MeasuringCommand& command, SweepRequest request,
                 const Invocation& invocation) {
  SweepOptions& options = request.options;
  if (!options.worker_device.empty()) return serve_cases(request);
  const std::vector<std::string> devices = list_devices(options.device);
  // A profiler attaches to this process, and outputs are taken from it.
  options.is_in_process = options.is_in_process || options.is_profiled || options.is_dry_run ||
                          !options.files.outputs.empty() || invocation.worker_executable.empty();
  if (!options.is_in_process) {
    std::vector<std::string> argv = request.argv;
    if (!invocation.worker_arguments.empty()) {
      argv[0] = invocation.worker_executable;  // by which an interpreter finds its environment
      argv.insert(argv.begin() + 1, invocation.worker_arguments.begin(),
                  invocation.worker_arguments.end());
    }
    WorkerPool workers(
        {invocation.worker_executable, std::move(argv), devices, *options.method.timeout_s});
    return run_and_report(command, request, workers, invocation.streams);
  }
  if (devices.size() > 1 && !options.is_dry_run) {
    throw UsageError(
        fmt::format("--device: {} devices take a process each; give one device", devices.size()));
  }
  return measure_in_process(command, request, devices.front(), invocation.streams);
}

}  // namespace

void add_measuring_command(CLI::App& program, const Invocation& invocation, Action& action,
                           MeasuringCommand command) {
  CLI::App* subcommand = program.add_subcommand(command.name);
  const auto options = std::make_shared<SweepOptions>();
  options->workload = command.workload;
  options->takes_one_problem = command.takes_one_problem;
  add_sweep_flags(*subcommand, *options, command.is_timed);
  if (command.takes_tensors) add_tensors_flag(*subcommand, *options);
  if (command.saves_outputs) add_save_outputs_flag(*subcommand, options->files);
  if (command.add_flags) command.add_flags(*subcommand, *options);
  if (command.has_tables) {
    add_table_flags(*subcommand, options->table, {.has_columns = command.has_case_table});
  } else {
    add_width_flag(*subcommand, options->table);
  }
  subcommand->callback([options, subcommand, command = std::move(command), &invocation, &action] {
    if (!command.is_timed) check_untimed_flags(*subcommand);
    check_tensors_flag(*subcommand, *options);
    check_sweep_flags(*options);
    check_table_flags(options->table);
    action = [options, command, &invocation] {
      choose_one_problem(*options);
      return measure(command,
                     {*options, command.is_timed, invocation.argv, invocation.before_case,
                      command.times_parts, invocation.predictor, invocation.load_kernels},
                     invocation);
    };
  });
}

}  // namespace sparkbench
