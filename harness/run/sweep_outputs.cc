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

RunsBeside runs_beside(const SweepOptions& options) {
  return {.own = {options.out_folder, options.resume_folder}, .read = {}};
}

void check_outputs(const OutputFiles& outputs, const RunsBeside& runs,
                   const std::string& tensors_file) {
  const auto files = files_asked_for(outputs);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_same_output(files[i].second, files[j].second)) continue;
      throw UsageError(fmt::format("{} and {}: both write to '{}'; give them different files",
                                   files[j].first, files[i].first, files[i].second));
    }
    if (!tensors_file.empty() && is_same_output(files[i].second, tensors_file)) {
      throw UsageError(fmt::format("{}: '{}' is what --tensors reads; give another file",
                                   files[i].first, files[i].second));
    }
    for (const std::string& run : runs.own) {
      require_harmless(files[i], run, derived_file(files[i].first));
    }
    for (const std::string& run : runs.read) require_harmless(files[i], run, "");
    check_writable(files[i].first, files[i].second);
  }
}

std::ostream& report_stream(const OutputFiles& outputs, const Streams& streams) {
  const auto files = files_asked_for(outputs);
  const bool is_stdout_taken = std::any_of(
      files.begin(), files.end(), [](const auto& file) { return is_standard_output(file.second); });
  return is_stdout_taken ? streams.err : streams.out;
}

void write_outputs(const OutputFiles& files, const RunRecord& run, const Streams& streams) {
  std::exception_ptr first_error;
  const auto write = [&](const std::string& path, auto format) {
    if (path.empty()) return;
    try {
      write_output(path, format(run), streams.out);
    } catch (const OutputError&) {
      if (!first_error) first_error = std::current_exception();
    }
  };
  write(files.json, run_to_json);
  write(files.csv, files.csv_has_all_columns ? cases_to_csv : cases_to_lean_csv);
  write(files.markdown, format_summary_markdown);
  write(files.html, format_html_page);
  if (first_error) std::rethrow_exception(first_error);
}

void save_outputs(const std::string& file, const SweepResult& result, const Streams& streams) {
  if (file.empty() || result.run.cases.empty()) return;
  const CaseRecord& record = result.run.cases.front();
  if (!result.outputs) {
    throw OutputError(fmt::format("--save-outputs: nothing was written to '{}', since {}", file,
                                  record.reason ? record.reason->message : "nothing was run"));
  }
  write_output(file, outputs_to_safetensors(*result.outputs, record, result.run), streams.out);
}

}  // namespace sparkbench
