// sparkbench diff: two runs, case by case.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "harness/commands/commands.h"
#include "harness/session/stored_runs.h"
#include "results/study/run_diff.h"

namespace sparkbench {
namespace {

struct DiffOptions {
  std::string first, second;
  double threshold = 0.01;
  std::vector<std::string> fails_on = {"slow", "incorrect"};
  bool shows_all = false;
};

ExitCode run_diff_command(const DiffOptions& options, const Streams& streams) {
  const RunRecord first = load_run(options.first), second = load_run(options.second);
  const std::vector<CaseDiff> diffs = diff_runs(first, second, options.threshold);
  streams.out << format_diff(first, second, diffs, options.shows_all);
  const bool has_finding = std::any_of(diffs.begin(), diffs.end(), [&](const CaseDiff& diff) {
    const auto& names = options.fails_on;
    return std::find(names.begin(), names.end(), name_of(diff.verdict)) != names.end();
  });
  return has_finding ? ExitCode::kFinding : ExitCode::kOk;
}

}  // namespace

void add_diff_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("diff", "Compare two stored runs, case by case");
  const auto options = std::make_shared<DiffOptions>();
  command->add_option("first", options->first, "a run's folder, or a file that --json wrote")
      ->required();
  command->add_option("second", options->second, "another")->required();
  command
      ->add_option("--threshold", options->threshold,
                   "relative difference of medians that means nothing")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  std::vector<std::string> names = verdict_names();
  names.emplace_back("nothing");
  command
      ->add_option("--fail-on", options->fails_on,
                   fmt::format("end with 1 when there is one of: {}", fmt::join(names, ", ")))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names))
      ->type_name("")
      ->default_str("slow,incorrect");
  command->add_flag("--all", options->shows_all, "show what is the same too");
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] { return run_diff_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
