#include "harness/sweep_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/progress.h"
#include "results/case_id.h"
#include "results/csv.h"
#include "results/json.h"
#include "results/output_file.h"
#include "results/run_folder.h"
#include "results/summary.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::string join(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

/// The files that were asked for, each with its flag.
std::vector<std::pair<const char*, std::string>> output_files(const SweepOptions& options) {
  std::vector<std::pair<const char*, std::string>> files = {
      {"--json", options.json_file}, {"--csv", options.csv_file}, {"--md", options.markdown_file}};
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  return files;
}

void check_outputs(const SweepOptions& options) {
  const auto files = output_files(options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_same_output(files[i].second, files[j].second)) continue;
      throw UsageError(fmt::format("{} and {}: both write to '{}'; give them different files",
                                   files[j].first, files[i].first, files[i].second));
    }
    check_writable(files[i].first, files[i].second);
  }
}

RunRecord begin_run(const SweepRequest& request, const Device& device,
                    const RunSettings& settings) {
  const SweepOptions& options = request.options;
  RunRecord run;
  run.run.started_at = utc_timestamp();
  run.run.argv = request.argv;
  run.run.seed = options.seed;
  run.run.tags = parse_tags(options.tags);
  run.run.id =
      to_hex(fnv1a(run.run.started_at + join(request.argv, " ") + std::to_string(::getpid())));
  run.run.resolved = {
      {"preset", options.preset.empty() ? request.default_preset : options.preset},
      {"device", device.name()},
      {"seed", std::to_string(options.seed)},
      {"input", options.input},
      {"cache", options.cache},
      {"min_samples", std::to_string(options.min_samples)},
      {"max_noise", fmt::format("{}", options.max_noise)},
      {"tolerance_ratio", fmt::format("{}", options.tolerance_ratio)},
      {"deterministic", options.is_deterministic ? "true" : "false"},
      {"verify", options.skips_verification ? "false" : "true"},
  };
  run.build = describe_build();
  run.environment = describe_environment(device);
  run.method = settings.method;
  return run;
}

bool is_bad(const CaseRecord& record) {
  return record.status == Status::kIncorrect || record.status == Status::kFailed;
}

}  // namespace

std::vector<SweepCase> plan_sweep(const SweepRequest& request, const Device& device) {
  const SweepOptions& options = request.options;
  const Preset& preset =
      find_preset(options.preset.empty() ? request.default_preset : options.preset);
  std::vector<std::string> known;
  for (const Contender& contender : device.contenders()) known.push_back(contender.name);
  return expand_grid(apply_axis_flags(preset.axes, options.axes, known), options.seed);
}

void list_cases(const std::vector<SweepCase>& cases, std::ostream& out) {
  for (const SweepCase& sweep_case : cases) {
    out << make_case_id(sweep_case.kernel, sweep_case.pass, sweep_case.problem) << '\n';
  }
}

RunRecord run_sweep(const SweepRequest& request, Device& device,
                    const std::vector<SweepCase>& cases, const Streams& streams) {
  const SweepOptions& options = request.options;
  const RunSettings settings = make_run_settings(
      options, device, request.is_timed,
      std::any_of(cases.begin(), cases.end(),
                  [](const SweepCase& sweep_case) { return sweep_case.pass != Pass::kForward; }));
  RunRecord run = begin_run(request, device, settings);
  check_outputs(options);
  std::optional<RunFolder> folder;
  if (!options.out_folder.empty()) folder.emplace(options.out_folder);

  const InterruptGuard interrupt;
  CaseRunner runner(device, settings);
  run.run.complete = true;
  {
    Progress progress(streams.err, cases.size(), !options.is_quiet && !options.hides_progress,
                      ::isatty(STDERR_FILENO) == 1);
    for (const SweepCase& sweep_case : cases) {
      progress.begin_case(make_case_id(sweep_case.kernel, sweep_case.pass, sweep_case.problem));
      run.cases.push_back(runner.run(sweep_case));
      if (folder) folder->append(run.cases.back());
      progress.end_case(run.cases.back());
      const bool is_last = run.cases.size() == cases.size();
      if (!is_last && interrupt.is_interrupted()) run.run.complete = false;
      if (options.stops_at_first_failure && is_bad(run.cases.back())) run.run.complete = is_last;
      if (!run.run.complete) break;
    }
  }
  run.run.finished_at = utc_timestamp();
  run.run.exit_code = static_cast<int>(
      interrupt.is_interrupted() && !run.run.complete ? ExitCode::kInterrupted : exit_code_of(run));
  if (folder) folder->write_derived(run, format_summary_markdown(run));
  return run;
}

ExitCode exit_code_of(const RunRecord& run) {
  if (run.run.exit_code) return static_cast<ExitCode>(*run.run.exit_code);
  const auto any = [&](Status status) {
    return std::any_of(run.cases.begin(), run.cases.end(),
                       [&](const CaseRecord& record) { return record.status == status; });
  };
  if (any(Status::kIncorrect)) return ExitCode::kFinding;
  if (any(Status::kFailed)) return ExitCode::kIncomplete;
  return ExitCode::kOk;
}

std::ostream& report_stream(const SweepOptions& options, const Streams& streams) {
  const auto files = output_files(options);
  const bool is_stdout_taken = std::any_of(
      files.begin(), files.end(), [](const auto& file) { return is_standard_output(file.second); });
  return is_stdout_taken ? streams.err : streams.out;
}

void write_outputs(const SweepOptions& options, const RunRecord& run, const Streams& streams) {
  if (!options.json_file.empty()) write_output(options.json_file, run_to_json(run), streams.out);
  if (!options.csv_file.empty()) write_output(options.csv_file, cases_to_csv(run), streams.out);
  if (!options.markdown_file.empty()) {
    write_output(options.markdown_file, format_summary_markdown(run), streams.out);
  }
}

}  // namespace sparkbench
