#include "harness/plan/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "harness/cli/options/table_options.h"
#include "harness/plan/planned_sweep.h"
#include "harness/run/progress.h"
#include "harness/run/run_files.h"
#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/render/sheet.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/run_folder.h"
#include "results/store/stored_run.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr double kHostFlopsPerSecond = 1e9;  // on two cores: emulator, fp64 and unfused reference
constexpr double kHostSeconds = 0.03;        // buffers, and writing the record to disk
constexpr double kHostBytesPerSecond = 1e8;  // inputs, generated one by one
constexpr double kPeakFraction = 1.0 / 3;    // assumed for an attention kernel
constexpr double kUnknownTflops = 10, kUnknownGbps = 300;  // for a chip outside the table
constexpr int kVerifyingLaunches = 3;

}  // namespace

CaseCost::CaseCost(const Device& device, const Workloads& workloads, const Method& method,
                   const std::vector<CaseRecord>& measured)
    : device_(device.info()), workloads_(workloads), method_(method) {
  std::vector<double> corrections;
  for (const CaseRecord& record : measured) {
    if (record.elapsed_s && record.status != Status::kFailed) {
      corrections.push_back(*record.elapsed_s / rule(record));
    }
  }
  const auto mean = geometric_mean(corrections);
  is_corrected_ = mean.has_value();
  correction_ = mean.value_or(1);
}

double CaseCost::seconds(const CaseRecord& planned) const {
  return is_attempted(planned) ? correction_ * rule(planned) : 0;
}

double CaseCost::rule(const CaseRecord& planned) const {
  const double host = kHostSeconds + static_cast<double>(planned.bytes) / kHostBytesPerSecond +
                      workloads_.of(planned.problem).host_flops(planned) / kHostFlopsPerSecond;
  if (device_.kind != DeviceKind::kGpu) return host;
  const double launch = launch_seconds(planned);
  if (!is_timed(method_)) return host + kVerifyingLaunches * launch;
  return host + kVerifyingLaunches * launch + sampling_seconds(launch);
}

double CaseCost::sampling_seconds(double launch) const {
  const int samples = std::max(*method_.min_samples, method_.min_blocks * *method_.block_samples);
  return *method_.warmup_ms * 1e-3 + std::clamp(samples * launch / *method_.duty_cycle,
                                                *method_.min_seconds, *method_.max_seconds);
}

double CaseCost::launch_seconds(const CaseRecord& planned) const {
  const double flops_per_second = device_.peak_tflops.value_or(kUnknownTflops) * 1e12;
  const double bytes_per_second = device_.peak_gbps.value_or(kUnknownGbps) * 1e9;
  return std::max(static_cast<double>(planned.flops) / flops_per_second,
                  static_cast<double>(planned.bytes) / bytes_per_second) /
         kPeakFraction;
}

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
