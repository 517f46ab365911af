// sparkbench merge: joins several runs into one, mostly the shards of a sweep.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/options/one_of.h"
#include "harness/cli/options/output_options.h"
#include "harness/run/run_files.h"
#include "harness/run/sweep_session.h"
#include "results/record/comparability.h"
#include "results/render/summary.h"
#include "results/store/merge.h"
#include "results/store/run_folder.h"
#include "sweeps/shell_word.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct MergeOptions {
  std::vector<std::string> paths;
  std::vector<std::string> allowed;
  std::string out_folder;
  OutputFiles files;
};

/// How to get the rest of a run that was stopped.
std::string remedy_of(const std::string& path, const RunRecord& run) {
  if (run.run.merged_from) return "merge the runs that it joined, and the rest, in one command";
  if (!std::filesystem::is_directory(path)) return "it was stopped; run it again";
  const bool is_study = run.run.argv.size() > 1 && run.run.argv[1] == "accuracy";
  return fmt::format("sparkbench {} --resume {}", is_study ? "accuracy" : "sweep",
                     shell_word(path));
}

/// The gaps of the merged run and their remedies, a line each.
std::string describe_gaps(const std::vector<std::string>& paths,
                          const std::vector<RunRecord>& runs) {
  std::string text;
  for (const std::string& shard : missing_shards(runs)) {
    text += fmt::format("shard {0} is missing: run it like the others, with --shard {0}\n", shard);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].run.complete) continue;
    text += fmt::format("'{}' is not complete: {}\n", paths[i], remedy_of(paths[i], runs[i]));
  }
  return text;
}

struct Merged {
  RunRecord run;
  std::string gaps;
};

Merged merge_stored_runs(const MergeOptions& options) {
  try {
    const std::vector<RunRecord> runs = load_runs(options.paths);
    Merged merged{merge_runs(runs, options.allowed), describe_gaps(options.paths, runs)};
    RunInfo& info = merged.run.run;
    ExitCode code = exit_code_of(merged.run);
    if (code == ExitCode::kOk && !info.complete) code = ExitCode::kIncomplete;
    info.exit_code = static_cast<int>(code);
    return merged;
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

/// If a full disk, say, cuts this short, the folder records that it is incomplete.
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
  if (options.out_folder.ends_with(".json") && options.files.json.empty()) {
    options.files.json = std::exchange(options.out_folder, "");
  }
  const auto [run, gaps] = merge_stored_runs(options);
  check_outputs(options.files, {.own = {options.out_folder}, .read = options.paths});
  if (!options.out_folder.empty()) write_folder(options.out_folder, run);
  write_outputs(options.files, run, streams);
  streams.err << fmt::format("{} runs: {}\n", options.paths.size(), format_counts(run.cases))
              << gaps;
  return run.run.complete ? ExitCode::kOk : ExitCode::kIncomplete;
}

}  // namespace

void add_merge_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("merge");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("runs", options->paths, "runs' folders, or files that --json wrote")
      ->required()
      ->type_name("RUN");
  command->add_option("-o,--out", options->out_folder,
                      "a new folder, or a JSON file if it ends in .json");
  command
      ->add_option("--allow", options->allowed,
                   "build, device, libraries, method, file: may differ; duplicates: the last one "
                   "counts")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({std::string(kBuild), std::string(kDevice), std::string(kLibraries),
                      std::string(kMethod), std::string(kFile), std::string(kDuplicates)}));
  add_file_flags(*command, options->files);
  command->callback([options, &invocation, &action] {
    if (options->out_folder.empty() && files_asked_for(options->files).empty()) {
      throw UsageError("merge: give an output: -o FOLDER, or --json, --csv, --md, --html");
    }
    action = [options, &invocation] { return run_merge_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
