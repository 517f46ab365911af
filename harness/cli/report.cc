// sparkbench report: the table, the closing sentence and the files of a stored run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <stdexcept>

#include "harness/cli/commands.h"
#include "harness/cli/options/output_options.h"
#include "harness/cli/options/table_options.h"
#include "harness/run/run_files.h"
#include "harness/run/sweep_session.h"
#include "results/record/speedup.h"
#include "results/render/case_table.h"
#include "results/render/summary.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct ReportOptions {
  std::string path;
  std::string reference;  // the baseline of speed-ups; empty: as stored
  bool salvages = false;
  OutputFiles files;
  TableOptions table;
};

RunRecord load_compared(const ReportOptions& options, std::ostream& err) {
  RunRecord run = options.salvages ? salvage_run(options.path, err) : load_run(options.path);
  if (options.reference.empty()) return run;
  try {
    compare_with_reference(options.reference, run);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--reference: {}", error.what()));
  }
  return run;
}

ExitCode run_report_command(const ReportOptions& options, const Streams& streams) {
  const RunRecord run = load_compared(options, streams.err);
  check_outputs(options.files, {.own = {options.path}, .read = {}});
  const RunRecord shown = shown_part(options.table, run);
  std::ostream& out = report_stream(options.files, streams);
  const TableView view = table_view(options.table, out);
  // A run from outside may contain terminal control sequences; both functions filter them.
  out << format_case_table(shown, view) << '\n' << format_end(shown, view);
  write_outputs(options.files, run, streams);
  return ExitCode::kOk;
}

}  // namespace

void add_report_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("report");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("run", options->path, "a run's folder, or a file that --json wrote")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--reference", options->reference,
                   "baseline of speed-ups, a kernel of the run, such as cublas-fp16 or "
                   "torch-unfused; default: as stored")
      ->type_name("KERNEL")
      ->check([](const std::string& name) {
        return name.empty() ? std::string("is empty; give a kernel of the run") : std::string();
      });
  add_file_flags(*command, options->files);
  add_salvage_flag(*command, options->salvages,
                   "leave out damaged cases of the run's journal, and report them");
  add_table_flags(*command, options->table);
  command->callback([options, &invocation, &action] {
    check_table_flags(options->table);
    action = [options, &invocation] { return run_report_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
