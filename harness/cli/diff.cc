// sparkbench diff: two runs, case by case.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "harness/cli/commands.h"
#include "harness/cli/options/one_of.h"
#include "harness/cli/options/table_options.h"
#include "harness/run/run_files.h"
#include "results/store/output_file.h"
#include "results/store/stored_run.h"
#include "results/study/diff_json.h"
#include "results/study/diff_text.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct DiffOptions {
  std::string first, second;
  DiffRules rules;
  std::vector<std::string> fails_on = {"failed", "incorrect", "missing", "worse", "memory", "slow"};
  std::vector<std::string> allowed;
  std::string json_file;
  bool shows_all = false;
  TableOptions table;
};

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A diff may compare two builds.
void require_alike(const DiffOptions& options, const RunDiff& diff) {
  for (const Difference& each : diff.differences) {
    if (each.of == kBuild || has(options.allowed, each.of)) continue;
    throw UsageError(fmt::format("diff: '{}' and '{}' have {}; to compare them anyway, --allow {}",
                                 options.first, options.second, words_of(each), each.of));
  }
  if (diff.cases.empty()) {
    throw UsageError(fmt::format("diff: '{}' and '{}' have no cases; nothing was compared",
                                 options.first, options.second));
  }
}

/// A case that the second run lacks is missing, even if the first run lacks it too.
bool has_finding(const std::vector<std::string>& names, const RunDiff& diff) {
  if (!diff.is_second_complete && has(names, name_of(Verdict::kMissing))) return true;
  const std::vector<Verdict> verdicts = all_verdicts();
  return std::any_of(verdicts.begin(), verdicts.end(), [&](Verdict verdict) {
    return has(names, name_of(verdict)) && count_of(diff.cases, verdict) > 0;
  });
}

void check_json_file(const DiffOptions& options) {
  if (options.json_file.empty()) return;
  for (const std::string& run : {options.first, options.second}) {
    if (!would_damage_run(options.json_file, run, "")) continue;
    throw UsageError(fmt::format("--json: '{}' is a file of the run '{}'; give another file",
                                 options.json_file, run));
  }
  check_writable("--json", options.json_file);
}

ExitCode run_diff_command(const DiffOptions& options, const Streams& streams) {
  check_json_file(options);
  const RunRecord first = load_run(options.first), second = load_run(options.second);
  const RunDiff diff = diff_runs(first, second, options.rules);
  require_alike(options, diff);
  const ExitCode code = has_finding(options.fails_on, diff) ? ExitCode::kFinding : ExitCode::kOk;
  const bool is_stdout_taken = is_standard_output(options.json_file);
  std::ostream& out = is_stdout_taken ? streams.err : streams.out;
  out << format_diff(diff, options.shows_all, table_view(options.table, out));
  if (!options.json_file.empty()) {
    write_output(options.json_file,
                 diff_to_json(first, second, diff, options.fails_on, static_cast<int>(code)),
                 streams.out);
  }
  return code;
}

void add_gate_flags(CLI::App& command, DiffOptions& options) {
  std::vector<std::string> names;
  for (const Verdict verdict : all_verdicts()) names.emplace_back(name_of(verdict));
  names.emplace_back("nothing");
  command
      .add_option("--fail-on", options.fails_on,
                  fmt::format("end with 1 if a case has one of: {}", fmt::join(names, ", ")))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of(names))
      ->type_name("")
      ->default_str(fmt::format("{}", fmt::join(options.fails_on, ",")));
  command
      .add_option("--allow", options.allowed,
                  "device, libraries, method, file: may differ; otherwise diff ends with 2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({std::string(kDevice), std::string(kLibraries), std::string(kMethod),
                      std::string(kFile)}))
      ->type_name("");
}

}  // namespace

void add_diff_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("diff");
  const auto options = std::make_shared<DiffOptions>();
  command->add_option("first", options->first, "a run's folder, or a file that --json wrote")
      ->required()
      ->type_name("RUN");
  command->add_option("second", options->second, "another")->required()->type_name("RUN");
  command
      ->add_option("--threshold", options->rules.threshold,
                   "relative difference of medians, in time and in cycles, that is ignored")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command->add_flag("--time-only", options->rules.by_time_alone,
                    "judge only by time: the clocks were locked, or not read");
  add_gate_flags(*command, *options);
  command->add_option("--json", options->json_file, "write the findings to this file; - is stdout")
      ->type_name("FILE");
  command->add_flag("--all", options->shows_all, "show unchanged cases too");
  add_sheet_flags(*command, options->table, diff_column_names());
  command->callback([options, &invocation, &action] {
    check_table_flags(options->table);
    action = [options, &invocation] { return run_diff_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
