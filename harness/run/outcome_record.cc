#include "harness/run/outcome_record.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "results/record/case_id.h"

namespace sparkbench {
namespace {

std::uint64_t count_races(const EmulationReport& report) {
  std::uint64_t races = 0;
  for (const Finding& finding : report.findings) {
    races += finding.kind == FindingKind::kSharedRace || finding.kind == FindingKind::kGlobalRace;
  }
  return races;
}

Emulation make_emulation(const EmulationReport& report) {
  const Counters& counters = report.counters;
  Emulation emulation;
  emulation.host_seconds = report.host_seconds;
  emulation.mma = counters.mma();
  emulation.mma_fp16acc = counters.mma_fp16acc;
  emulation.mufu = counters.mufu;
  emulation.half_conversions = counters.half_conversions;
  emulation.half_widenings = counters.half_widenings;
  emulation.fma = counters.fma;
  emulation.shuffles = counters.shuffles;
  emulation.barriers = counters.barriers;
  emulation.shared_loads = counters.shared_loads;
  emulation.shared_stores = counters.shared_stores;
  emulation.shared_wavefronts = counters.shared_wavefronts;
  emulation.bank_conflicts = counters.bank_conflicts;
  emulation.global_loads = counters.global_loads;
  emulation.global_stores = counters.global_stores;
  emulation.global_atomics = counters.global_atomics;
  emulation.global_wavefronts = counters.global_wavefronts;
  emulation.global_sectors_read = counters.global_sectors_read;
  emulation.global_sectors_written = counters.global_sectors_written;
  emulation.global_sectors_added = counters.global_sectors_added;
  emulation.races = count_races(report);
  emulation.findings = report.findings_total;
  return emulation;
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

void record_outcome(const RunOutcome& outcome, const DeviceInfo& device, CaseRecord& record) {
  if (outcome.emulation) record.emulation = make_emulation(*outcome.emulation);
  if (device.kind == DeviceKind::kGpu) {
    record.memory_bytes->workspace = outcome.workspace_bytes;
    record.memory_bytes->peak = outcome.peak_bytes;
  }
  constexpr double kShort = 0.5;  // seconds: no compiler and no tuner ran
  if (outcome.prepare_s.value_or(0) >= kShort) {
    record.warnings.push_back(
        {std::string(kPrepareTimeWarning),
         "to prepare the kernel, with its first call, took this many seconds, "
         "which no time includes",
         outcome.prepare_s});
  }
}

Accuracy make_accuracy(const char* output, const ErrorMetrics& error, const UnfusedError& unfused,
                       std::span<const Half> values) {
  Accuracy accuracy;
  accuracy.output = output;
  accuracy.oracle = "exact-fp64";
  accuracy.checked_elements = error.checked_elements;
  accuracy.max_abs = error.max_abs;
  accuracy.mean_abs = error.mean_abs;
  accuracy.rmse = error.rmse;
  accuracy.rel_l1 = error.rel_l1;
  accuracy.rel_l2 = error.rel_l2;
  accuracy.mean_rel = error.mean_rel;
  accuracy.max_rel = error.max_rel;
  accuracy.rel_floor = error.rel_floor;
  accuracy.cosine_diff = error.cosine_diff;
  accuracy.mismatches = error.mismatches;
  accuracy.nonfinite = error.nonfinite;
  accuracy.worst_got = error.worst_got;
  accuracy.worst_want = error.worst_want;
  accuracy.error_ratio = finite(error_ratio(error, unfused.same_accumulator));
  accuracy.error_over_unfused = finite(error_ratio(error, unfused.fp32));
  const auto* bytes = reinterpret_cast<const char*>(values.data());
  accuracy.output_hash = to_hex(fnv1a({bytes, values.size_bytes()}));
  return accuracy;
}

void add_mask_and_repeatability(const DropoutMaskSummary& mask, const RunOutcome& outcome,
                                Accuracy& accuracy) {
  accuracy.dropout_kept_fraction = mask.kept_fraction;
  accuracy.mask_hash = to_hex(mask.hash);
  accuracy.bitwise_repeatable = outcome.is_bitwise_repeatable;
}

std::string describe(const Finding& finding) {
  return fmt::format("{} at {}:{}, block ({},{},{}), thread {}: {}", to_string(finding.kind),
                     std::filesystem::path(finding.file).filename().string(), finding.line,
                     finding.block[0], finding.block[1], finding.block[2], finding.thread,
                     finding.message);
}

}  // namespace sparkbench
