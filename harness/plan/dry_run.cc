#include "harness/plan/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "harness/cli/options/table_options.h"
#include "harness/plan/case_cost.h"
#include "harness/plan/shard.h"
#include "harness/run/progress.h"
#include "harness/run/stored_runs.h"
#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/render/sheet.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/run_folder.h"
#include "results/store/stored_run.h"

namespace sparkbench {
namespace {

/// "0.05s", "1m52s"
std::string format_estimate(double seconds) {
  return seconds < 10 ? significant(seconds, 2) + "s" : format_duration(seconds);
}

std::vector<CaseRecord> cases_left(const PlannedSweep& sweep, const SweepOptions& options,
                                   const std::vector<CaseRecord>& stored) {
  std::set<std::string> done;
  for (const CaseRecord& record : stored) {
    const bool is_repeated = options.retries_failed && record.status == Status::kFailed;
    if (!is_repeated) done.insert(case_key(record));
  }
  std::vector<CaseRecord> left;
  const std::vector<CaseRecord>& cases = sweep.plan().cases;
  for (const std::size_t position : positions_of_shard(cases, options.shard)) {
    if (!done.contains(case_key(cases[position]))) left.push_back(cases[position]);
  }
  return left;
}

std::string describe(const CaseRecord& record, const CaseCost& cost) {
  if (!is_attempted(record)) {
    return fmt::format("{}: {}", name_of(record.status), record.reason->message);
  }
  return fmt::format("~{}", format_estimate(cost.seconds(record)));
}

void print_cases(const std::vector<CaseRecord>& cases, const CaseCost& cost, const Device& device,
                 const TableView& view, std::ostream& out) {
  Sheet sheet{
      "",
      {{"case", {"case", {}, false}}, {"memory", {"memory", {}}}, {"time", {"time", {}, false}}}};
  double seconds = 0;
  std::uint64_t most_bytes = 0;
  for (const CaseRecord& record : cases) {
    const std::uint64_t bytes = record.memory_bytes->predicted;
    sheet.columns[0].text.cells.push_back(record.id);
    sheet.columns[1].text.cells.push_back(format_memory(bytes));
    sheet.columns[2].text.cells.push_back(describe(record, cost));
    seconds += cost.seconds(record);
    if (is_attempted(record)) most_bytes = std::max(most_bytes, bytes);
  }
  if (!cases.empty()) out << format_sheet(sheet, view) << '\n';
  out << wrapped(
      fmt::format("{} cases, at most {}{} at a time, about {} on {} (an estimate from {})\n",
                  cases.size(), format_memory(most_bytes),
                  device.info().kind == DeviceKind::kEmulated ? " of a GPU's memory" : "",
                  format_estimate(seconds), device.name(),
                  cost.is_corrected() ? "what the cases in the folder took"
                                      : "FLOPs, bytes and assumed rates"),
      view);
}

}  // namespace

void report_dry_run(const PlannedSweep& sweep, const SweepRequest& request,
                    const Streams& streams) {
  const SweepOptions& options = request.options;
  check_outputs(options.files, runs_beside(options), options.tensors_file);
  if (!options.out_folder.empty()) RunFolder::check_new(options.out_folder);
  std::vector<CaseRecord> stored;
  if (!options.resume_folder.empty()) {
    stored = (options.salvages ? salvage_run(options.resume_folder, streams.err)
                               : load_run(options.resume_folder))
                 .cases;
  }
  const std::vector<CaseRecord> cases = cases_left(sweep, options, stored);
  if (!is_standard_output(options.files.json)) {
    const CaseCost cost(sweep.device(), sweep.workloads(), sweep.plan().method, stored);
    const TableView view = table_view({.width = options.table.width}, streams.out);
    print_cases(cases, cost, sweep.device(), view, streams.out);
  }
  if (!options.files.json.empty()) {
    write_output(options.files.json, planned_to_json(cases), streams.out);
  }
}

}  // namespace sparkbench
