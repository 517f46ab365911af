#include "harness/run/case_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "kernels/registry.h"
#include "results/record/enum_names.h"
#include "results/render/broken_text.h"
#include "results/render/number_format.h"
#include "results/render/tensors_read.h"
#include "results/study/prediction_check.h"
#include "sweeps/axes.h"

namespace sparkbench {
namespace {

constexpr int kSectorBytes = 32;
/// For m8n8k4: four quad-pairs, one 8x8x4 product each.
constexpr double kFlopsPerMma = 4 * 2.0 * 8 * 8 * 4;

/// Lines of a label and a value, under titles.
class Report {
 public:
  void title(std::string_view text) { fmt::format_to(std::back_inserter(text_), "{}\n", text); }

  template <class... Values>
  void line(std::string_view label, fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), "  {:<20} {}\n", label,
                   fmt::format(format, std::forward<Values>(values)...));
  }

  std::string text() const { return text_; }

 private:
  std::string text_;
};

constexpr int kLabelWidth = 23;  // as in Report::line()

double ratio(std::uint64_t numerator, std::uint64_t denominator) {
  return static_cast<double>(numerator) / static_cast<double>(denominator);
}

std::string_view why_untimed(const CaseRecord& record) {
  if (!is_attempted(record) || record.status == Status::kFailed) {
    return "the case did not run";
  }
  for (const Warning& warning : record.warnings) {
    if (warning.code == kNoTimeWarning) return warning.message;
  }
  return "not asked for";
}

void add_times(const CaseRecord& record, Report& report) {
  if (!record.time_ms) {
    report.line("time", "none: {}", why_untimed(record));
    return;
  }
  const TimeMs& time = *record.time_ms;
  report.line("time", "{:.4g} ms (median){}", time.median,
              record.valid ? "" : ", not valid: see the warnings");
  report.line("mean", "{:.4g} ms, standard deviation {:.2g} ms", time.mean, time.stdev);
  report.line("range", "{:.4g} to {:.4g} ms", time.min, time.max);
  report.line("quartiles", "{:.4g} and {:.4g} ms", time.q1, time.q3);
  if (record.noise) report.line("noise", "{:.2g} %", 100 * *record.noise);
  if (record.sampling) {
    report.line("samples", "{}, stopped by {}", record.sampling->count,
                record.sampling->stop_reason);
  }
  if (record.clock_mhz) {
    report.line("SM clock", "{:.0f} MHz ({:.0f} to {:.0f})", record.clock_mhz->median,
                record.clock_mhz->min, record.clock_mhz->max);
  }
  if (record.speedup) {
    report.line("speedup", "{:.3g} times faster than {}", record.speedup->ratio,
                record.speedup->over);
  }
}

std::string of_peak(const std::optional<double>& fraction) {
  return fraction ? fmt::format(", {:.1f} % of the peak", 100 * *fraction) : "";
}

void add_libraries(const CaseRecord& record, Report& report) {
  if (!record.libraries) return;
  for (const auto& [name, version] : *record.libraries) {
    report.line("library", "{} {}", name, version);
  }
}

void add_device_state(const DeviceState& state, Report& report) {
  if (state.temperature_c && state.power_draw_w) {
    report.line("card afterwards", "{:.0f} C, {:.0f} W", *state.temperature_c, *state.power_draw_w);
  }
  if (state.throttle_reasons && !state.throttle_reasons->empty()) {
    report.line("clocks held by", "{}", fmt::join(*state.throttle_reasons, ", "));
  }
}

/// For a reference; a fused kernel has none.
void add_parts(const CaseRecord& record, Report& report) {
  if (record.role != Role::kReference) return;
  if (!record.parts) {
    report.line("parts", "none: {}", why_untimed(record));
    return;
  }
  const PassParts& parts = *record.parts;
  report.line("parts", "{} passes by themselves, medians{}", parts.passes,
              parts.copy_gbps ? fmt::format("; a copy moves {:.0f} GB/s", *parts.copy_gbps) : "");
  for (const PassPart& part : parts.of) {
    const std::string of_copy =
        part.copy_fraction ? fmt::format(" ({:.1f} % of the copy)", 100 * *part.copy_fraction) : "";
    const std::string product =
        part.flops == 0
            ? ""
            : fmt::format(", {:.4g} TFLOP/s{}", static_cast<double>(part.flops) / part.ms * 1e-9,
                          of_peak(part.peak_fraction));
    report.line("  " + part.name, "{:.4g} ms, {:.0f} GB/s{}{}", part.ms,
                static_cast<double>(part.bytes) / part.ms * 1e-6, of_copy, product);
  }
}

void add_work(const CaseRecord& record, Report& report) {
  report.line("useful work", "{:.4g} GFLOP, {} moved at least",
              static_cast<double>(record.flops) * 1e-9, format_memory(record.bytes));
  if (record.mask_work) {
    const MaskWork& mask = *record.mask_work;
    report.line("visible pairs", "{}{}", mask.pairs_visible,
                mask.density ? fmt::format(", {:.4g} % of all", 100 * *mask.density) : "");
    if (mask.pairs_executed && mask.pairs_visible > 0) {
      report.line("executed pairs", "{}, {:.4g} times as many", *mask.pairs_executed,
                  ratio(*mask.pairs_executed, mask.pairs_visible));
    }
  }
  if (record.tflops) {
    report.line("throughput", "{:.4g} TFLOP/s{}", *record.tflops, of_peak(record.peak_fraction));
  }
  if (record.gbps) {
    report.line("bandwidth", "{:.4g} GB/s{}", *record.gbps, of_peak(record.bandwidth_fraction));
  }
  if (!record.memory_bytes) return;
  const MemoryBytes& memory = *record.memory_bytes;
  report.line("inputs and outputs", "{}", format_memory(memory.io));
  report.line("workspace", "{}", format_memory(memory.workspace));
  report.line("peak memory", "{} predicted, {}", format_memory(memory.predicted),
              memory.peak ? format_memory(*memory.peak) + " measured" : "not measured");
}

void add_dropout(const Accuracy& accuracy, Report& report) {
  if (accuracy.dropout_kept_fraction) {
    report.line("dropout kept", "{:.4f}", *accuracy.dropout_kept_fraction);
  }
  if (accuracy.mask_hash) report.line("mask hash", "{}", *accuracy.mask_hash);
  if (accuracy.bitwise_repeatable) {
    report.line("repeatable", "{}", *accuracy.bitwise_repeatable ? "bit for bit" : "no");
  }
}

void add_metrics(const Accuracy& accuracy, Report& report) {
  report.line("rel_l1", "{:.4g} %", 100 * accuracy.rel_l1);
  if (accuracy.worst_row_rel_l1 && accuracy.worst_row && accuracy.worst_row->size() == 3) {
    const auto& at = *accuracy.worst_row;
    report.line("worst row's rel_l1", "{:.4g} % at batch {}, row {}, head {}",
                100 * *accuracy.worst_row_rel_l1, at[0], at[1], at[2]);
  }
  report.line("rel_l2", "{:.4g} %", 100 * accuracy.rel_l2);
  report.line("rmse", "{:.4g}", accuracy.rmse);
  report.line("mean_abs, max_abs", "{:.4g}, {:.4g}", accuracy.mean_abs, accuracy.max_abs);
  report.line("mean_rel, max_rel", "{:.4g}, {:.4g} (where |want| > {:.2g})", accuracy.mean_rel,
              accuracy.max_rel, accuracy.rel_floor);
  report.line("cosine_diff", "{:.4g}", accuracy.cosine_diff);
  if (accuracy.lse_max_abs) report.line("lse max_abs", "{:.4g}", *accuracy.lse_max_abs);
  if (accuracy.error_over_unfused) {
    report.line("error_over_unfused",
                "{:.3g} times the error of the unfused computation with FP32 accumulators",
                *accuracy.error_over_unfused);
  }
}

std::string rows_text(const Accuracy& accuracy) {
  if (!accuracy.checked_rows) return "";
  return fmt::format(" of {} {}rows", *accuracy.checked_rows,
                     accuracy.weighted.value_or(false) ? "sampled and weighted " : "");
}

void add_accuracy(const Accuracy& accuracy, Report& report) {
  report.line("errors of", "{}, {} elements{} against {}", accuracy.output,
              accuracy.checked_elements, rows_text(accuracy), accuracy.oracle);
  if (accuracy.nonfinite == 0) {
    add_metrics(accuracy, report);
  } else {
    report.line("metrics", "none: the output is not finite");
  }
  report.line("mismatches", "{}, of which {} not finite", accuracy.mismatches, accuracy.nonfinite);
  if (accuracy.worst_index.size() == 4) {
    const auto& at = accuracy.worst_index;
    report.line("worst element", "got {:.6g}, want {:.6g} at batch {}, row {}, head {}, dim {}",
                accuracy.worst_got, accuracy.worst_want, at[0], at[1], at[2], at[3]);
  }
  add_dropout(accuracy, report);
}

/// Whether their number gives their FLOPs: wgmma has many sizes.
bool are_of_one_size(const CaseRecord& record) {
  const AttentionKernel* const kernel = find_attention_kernel(record.kernel);
  return kernel != nullptr && kernel->instruction == MmaInstruction::kM8n8k4;
}

void add_instructions(const CaseRecord& record, Report& report) {
  const Emulation& counts = *record.emulation;
  report.line("emulated", "{} of {} query tiles in {:.3g} s of the host", counts.tiles_run,
              counts.tiles_total, counts.host_seconds);
  report.line("mma", "{}", counts.mma);
  if (counts.mma > 0 && counts.tiles_run == counts.tiles_total && are_of_one_size(record)) {
    report.line(
        "", "{:.1f} % of their FLOPs are useful",
        100 * static_cast<double>(record.flops) / (static_cast<double>(counts.mma) * kFlopsPerMma));
  }
  const auto line = [&](const char* label, std::uint64_t count) {
    if (counts.mma == 0) return report.line(label, "{}", count);
    report.line(label, "{}, {:.1f} per 1000 mma", count, 1000 * ratio(count, counts.mma));
  };
  line("mufu", counts.mufu);
  line("half conversions", counts.half_conversions);
  line("half widenings", counts.half_widenings);
  line("fma", counts.fma);
  line("shuffles", counts.shuffles);
  line("barriers", counts.barriers);
}

void add_memory_traffic(const CaseRecord& record, Report& report) {
  const Emulation& counts = *record.emulation;
  report.line("shared accesses", "{} loads, {} stores", counts.shared_loads, counts.shared_stores);
  report.line("shared wavefronts", "{}{}", counts.shared_wavefronts,
              counts.mma > 0
                  ? fmt::format(", {:.3g} per mma", ratio(counts.shared_wavefronts, counts.mma))
                  : "");
  report.line("bank conflicts", "{}{}", counts.bank_conflicts,
              counts.shared_wavefronts > 0
                  ? fmt::format(", {:.2f} % of the wavefronts",
                                100 * ratio(counts.bank_conflicts, counts.shared_wavefronts))
                  : "");
  report.line("global accesses", "{} loads, {} stores, {} atomics", counts.global_loads,
              counts.global_stores, counts.global_atomics);
  const std::uint64_t sectors =
      counts.global_sectors_read + counts.global_sectors_written + counts.global_sectors_added;
  report.line("global sectors", "{} read, {} written, {} added to{}", counts.global_sectors_read,
              counts.global_sectors_written, counts.global_sectors_added,
              record.bytes > 0 && counts.tiles_run == counts.tiles_total
                  ? fmt::format(", {:.3g} times the least bytes",
                                ratio(sectors * kSectorBytes, record.bytes))
                  : "");
  report.line("findings", "{}, of which {} races", counts.findings, counts.races);
}

void add_prediction(const CaseRecord& record, Report& report) {
  if (record.predicted_reason) {
    report.line("predicted", "none: {}", record.predicted_reason->message);
  }
  if (!record.predicted) return;
  const Prediction& predicted = *record.predicted;
  const TimeBand& ms = predicted.time_ms;
  report.line("predicted, no time", "{:.3g} ms likely, {:.3g} to {:.3g}, on a {} ({}): {} binds",
              ms.likely, ms.low, ms.high, predicted.chip, predicted.basis, predicted.binding);
  report.line("", "{:.3g} TFLOP/s likely{}", predicted.tflops,
              predicted.clock_mhz
                  ? fmt::format(", at {:.0f} MHz ({:.0f} for the low time)", *predicted.clock_mhz,
                                predicted.low_clock_mhz.value_or(*predicted.clock_mhz))
                  : "");
  if (predicted.speedup) {
    const PredictedSpeedup& speedup = *predicted.speedup;
    report.line("", "{:.2g} times as fast as {} likely, {:.2g} to {:.2g}", speedup.likely,
                speedup.over, speedup.low, speedup.high);
  }
  report.line("", "{}", model_on_published_times_briefly());
  if (const auto check = check_prediction(record)) {
    report.line("measured/predicted", "{:.3g}, {} the band", check->ratio,
                check->is_in_band ? "within" : "outside of");
  }
}

}  // namespace

std::string wrapped_report(const std::string& report, const TableView& view) {
  if (!view.wraps_text || !view.width) return report;
  std::istringstream lines(report);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const bool is_whole =
        characters_in(line) <= std::max(*view.width, kLabelWidth) || line.starts_with("  repeat ");
    if (is_whole) {
      text += line + "\n";
      continue;
    }
    const auto values =
        broken(line.substr(kLabelWidth), *view.width - kLabelWidth, 0, Words::kWhole);
    text += fmt::format("{}{}\n", line.substr(0, kLabelWidth),
                        fmt::join(values, "\n" + std::string(kLabelWidth, ' ')));
  }
  return text;
}

std::string format_run_head(const RunRecord& run) {
  Report report;
  const DeviceInfo& device = run.environment.device;
  report.title("Problem");
  if (!run.cases.empty()) {
    const CaseProblem& problem = run.cases.front().problem;
    for (const Axis* axis : problem_axes()) {
      if (axis->is_of_case) continue;  // in the method's input, below
      report.line(axis->name, "{}", text_of_value(axis->access.get(problem)));
    }
    if (problem.lengths_spec) {
      report.line("total", "{} rows, {} keys", problem.total_q.value_or(0),
                  problem.total_k.value_or(0));
      report.line("lengths_hash", "{}", problem.lengths_hash.value_or("unknown"));
    }
    report.line("dropout_p applied", "{}", problem.applied_dropout_p());
    report.line("softmax_scale", "{:.6g}", problem.scale());
  }
  const Method& method = run.method;
  report.line("input", "{}{}, seed {}", method.input,
              method.input_file ? fmt::format(" of {}, FNV-1a {}", *method.input_file,
                                              method.input_hash.value_or("unknown"))
                                : "",
              run.run.seed);
  if (const std::string shapes = shapes_read(run); !shapes.empty()) {
    report.line("tensors", "{}", shapes);
  }
  report.line("device", "{}, arithmetic {}", device.name, device.arithmetic);
  if (device.uuid) report.line("", "{}", *device.uuid);
  if (run.environment.driver_version) {
    report.line("driver", "{}", *run.environment.driver_version);
  }
  return report.text();
}

std::string format_case_report(const CaseRecord& record) {
  Report report;
  report.title(record.kernel);
  report.line("id", "{}", record.id);
  report.line(
      "role", "{}{}", name_of(record.role),
      record.accumulator ? fmt::format(", {} accumulators", name_of(*record.accumulator)) : "");
  add_libraries(record, report);
  report.line("status", "{}", name_of(record.status));
  if (record.reason) report.line("reason", "{}: {}", record.reason->code, record.reason->message);
  add_times(record, report);
  add_prediction(record, report);
  if (record.device_state) add_device_state(*record.device_state, report);
  add_parts(record, report);
  add_work(record, report);
  for (const Accuracy* accuracy : accuracies_of(record)) add_accuracy(*accuracy, report);
  if (record.emulation) {
    add_instructions(record, report);
    add_memory_traffic(record, report);
  }
  for (const Warning& warning : record.warnings) {
    report.line("warning", "{}: {}", warning.code, warning.message);
  }
  report.line("repeat", "{}", record.repro);
  return report.text();
}

}  // namespace sparkbench
