#include "harness/run/sweep_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/run/saved_outputs.h"
#include "results/render/html_page.h"
#include "results/render/summary.h"
#include "results/store/csv.h"
#include "results/store/json.h"
#include "results/store/output_error.h"
#include "results/store/output_file.h"
#include "results/store/stored_run.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// The file of a run's folder that the flag writes.
std::string_view derived_file(std::string_view flag) {
  if (flag == "--json") return "run.json";
  if (flag == "--csv") return "cases.csv";
  return flag == "--md" ? "summary.md" : "";
}

void require_harmless(const OutputFile& file, const std::string& run, std::string_view own) {
  if (run.empty() || !would_damage_run(file.second, run, own)) return;
  throw UsageError(fmt::format("{}: '{}' is a file of the run '{}'; give another file", file.first,
                               file.second, run));
}

}  // namespace

std::vector<OutputFile> output_files(const SweepOptions& options) {
  std::vector<OutputFile> files = {
      {"--json", options.json_file},   {"--csv", options.csv_file},
      {"--md", options.markdown_file}, {"--html", options.html_file},
      {"--save-outputs", options.outputs_file}};
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  return files;
}

void check_outputs(const SweepOptions& options, const RunsRead& runs) {
  const auto files = output_files(options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_same_output(files[i].second, files[j].second)) continue;
      throw UsageError(fmt::format("{} and {}: both write to '{}'; give them different files",
                                   files[j].first, files[i].first, files[i].second));
    }
    if (!options.tensors_file.empty() && is_same_output(files[i].second, options.tensors_file)) {
      throw UsageError(fmt::format("{}: '{}' is what --tensors reads; give another file",
                                   files[i].first, files[i].second));
    }
    const std::string_view derived = derived_file(files[i].first);
    require_harmless(files[i], options.out_folder, derived);
    require_harmless(files[i], options.resume_folder, derived);
    for (const std::string& run : runs.paths) {
      require_harmless(files[i], run, runs.may_be_derived_anew ? derived : "");
    }
    check_writable(files[i].first, files[i].second);
  }
}

std::ostream& report_stream(const SweepOptions& options, const Streams& streams) {
  const auto files = output_files(options);
  const bool is_stdout_taken = std::any_of(
      files.begin(), files.end(), [](const auto& file) { return is_standard_output(file.second); });
  return is_stdout_taken ? streams.err : streams.out;
}

void write_outputs(const SweepOptions& options, const RunRecord& run, const Streams& streams) {
  std::exception_ptr first_error;
  const auto write = [&](const std::string& path, auto format) {
    if (path.empty()) return;
    try {
      write_output(path, format(run), streams.out);
    } catch (const OutputError&) {
      if (!first_error) first_error = std::current_exception();
    }
  };
  write(options.json_file, run_to_json);
  write(options.csv_file, options.csv_has_all_columns ? cases_to_csv : cases_to_lean_csv);
  write(options.markdown_file, format_summary_markdown);
  write(options.html_file, format_html_page);
  if (first_error) std::rethrow_exception(first_error);
}

void save_outputs(const SweepOptions& options, const SweepResult& result, const Streams& streams) {
  if (options.outputs_file.empty() || result.run.cases.empty()) return;
  const CaseRecord& record = result.run.cases.front();
  if (!result.outputs) {
    throw OutputError(fmt::format("--save-outputs: nothing was written to '{}', since {}",
                                  options.outputs_file,
                                  record.reason ? record.reason->message : "nothing was run"));
  }
  write_output(options.outputs_file, outputs_to_safetensors(*result.outputs, record, result.run),
               streams.out);
}

}  // namespace sparkbench
