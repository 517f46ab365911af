// sparkbench report: the table and the closing sentence of a run that is stored, and its files.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "harness/commands/commands.h"
#include "harness/options/sweep_options.h"
#include "harness/session/stored_runs.h"
#include "harness/session/sweep_session.h"
#include "results/record/safe_text.h"
#include "results/render/case_table.h"
#include "results/render/summary.h"

namespace sparkbench {
namespace {

ExitCode run_report_command(const SweepOptions& options, const std::string& path,
                            const Streams& streams) {
  const RunRecord run = options.salvages ? salvage_run(path, streams.err) : load_run(path);
  check_outputs(options, {{path}, true});
  // Another's run may hold what a terminal obeys.
  report_stream(options, streams) << printable(format_case_table(run, TableStyle::kTerminal))
                                  << '\n'
                                  << printable(format_summary(run, TableStyle::kTerminal));
  write_outputs(options, run, streams);
  return ExitCode::kOk;
}

}  // namespace

void add_report_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("report", "Print a stored run, and write its files");
  const auto options = std::make_shared<SweepOptions>();
  const auto path = std::make_shared<std::string>();
  command->add_option("run", *path, "a run's folder, or a file that --json wrote")->required();
  add_file_flags(*command, *options);
  add_salvage_flag(*command, *options,
                   "leave out what is damaged in the run's journal, and say what that is");
  command->callback([options, path, &invocation, &action] {
    action = [options, path, &invocation] {
      return run_report_command(*options, *path, invocation.streams);
    };
  });
}

}  // namespace sparkbench
