// sparkbench merge: one run of several, of the shards of a sweep most of all.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "harness/commands/commands.h"
#include "harness/options/sweep_options.h"
#include "harness/session/stored_runs.h"
#include "harness/session/sweep_session.h"
#include "results/record/comparability.h"
#include "results/render/summary.h"
#include "results/store/merge.h"
#include "results/store/run_folder.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct MergeOptions {
  std::vector<std::string> paths;
  std::vector<std::string> allowed;
  SweepOptions outputs;
};

RunRecord merge_stored_runs(const MergeOptions& options) {
  try {
    RunRecord run = merge_runs(load_runs(options.paths), options.allowed);
    run.run.exit_code = static_cast<int>(exit_code_of(run));
    return run;
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

/// Cut short, by a full disk say, the folder says that it is not complete.
void write_folder(const std::string& path, const RunRecord& run) {
  RunFolder folder(path);
  RunRecord head = run;
  head.cases.clear();
  head.run.complete = false;
  head.run.exit_code.reset();
  folder.write_head(head);
  for (const CaseRecord& record : run.cases) folder.append(record);
  folder.write_derived(run, format_summary_markdown(run));
}

ExitCode run_merge_command(MergeOptions options, const Streams& streams) {
  SweepOptions& outputs = options.outputs;
  if (outputs.out_folder.ends_with(".json") && outputs.json_file.empty()) {
    outputs.json_file = std::exchange(outputs.out_folder, "");
  }
  const RunRecord run = merge_stored_runs(options);
  check_outputs(outputs, {options.paths});
  if (!outputs.out_folder.empty()) write_folder(outputs.out_folder, run);
  write_outputs(outputs, run, streams);
  streams.err << fmt::format("{} runs{}: {}\n", options.paths.size(),
                             run.run.complete ? "" : ", not all there or not complete",
                             format_counts(run.cases));
  return ExitCode::kOk;
}

}  // namespace

void add_merge_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("merge", "Put the shards of a sweep together");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("runs", options->paths, "runs' folders, or files that --json wrote")
      ->required();
  command->add_option("-o,--out", options->outputs.out_folder,
                      "a new folder, or a file of JSON when it is called so (.json)");
  command
      ->add_option("--allow", options->allowed,
                   "build, device, method: may differ; duplicates: the last one counts")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({std::string(kBuild), std::string(kDevice), std::string(kMethod),
                             std::string(kDuplicates)}));
  add_file_flags(*command, options->outputs);
  command->callback([options, &invocation, &action] {
    const SweepOptions& outputs = options->outputs;
    if (outputs.out_folder.empty() && outputs.json_file.empty() && outputs.csv_file.empty() &&
        outputs.markdown_file.empty()) {
      throw UsageError("merge: say where to: -o FOLDER, or --json, --csv, --md");
    }
    action = [options, &invocation] { return run_merge_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
