#include "results/store/lean_columns.h"

#include <algorithm>
#include <array>

#include "sweeps/axes.h"

namespace sparkbench {
namespace {

constexpr auto kAlways =
    std::to_array<std::string_view>({"id", "kernel", "status", "pass", "batch", "heads", "seqlen_q",
                                     "seqlen_k", "head_dim", "mask", "dropout_p"});

constexpr auto kUnlessEmpty = std::to_array<std::string_view>({"model",
                                                               "run_id",
                                                               "git_sha",
                                                               "device",
                                                               "device_name",
                                                               "reason_code",
                                                               "valid",
                                                               "warnings",
                                                               "time_ms_median",
                                                               "time_ms_q1",
                                                               "time_ms_q3",
                                                               "clock_mhz_median",
                                                               "sampling_median_error",
                                                               "flops",
                                                               "bytes",
                                                               "tflops",
                                                               "speedup_over",
                                                               "speedup_ratio",
                                                               "memory_bytes_peak",
                                                               "memory_bytes_predicted",
                                                               "memory_bytes_unfused",
                                                               "predicted_chip"});

/// A metric's columns are "rel_l1" and, for each output of a backward pass, "dq_rel_l1".
constexpr auto kMetrics = std::to_array<std::string_view>(
    {"rel_l1", "rel_l2", "max_abs", "nonfinite", "error_over_unfused"});
constexpr auto kOutputs = std::to_array<std::string_view>({"", "dq_", "dk_", "dv_", "o_"});

constexpr auto kGroups = std::to_array<std::string_view>(
    {"layer_", "predicted_time_ms_", "predicted_speedup_", "predicted_software_", "tag_"});

template <class Names>
bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_metric(std::string_view column) {
  return std::any_of(kOutputs.begin(), kOutputs.end(), [column](std::string_view output) {
    return column.starts_with(output) && has(kMetrics, column.substr(output.size()));
  });
}

bool is_axis(std::string_view column) {
  const auto axes = recorded_axes();
  return std::any_of(axes.begin(), axes.end(),
                     [column](const Axis* axis) { return column == axis->name; });
}

bool stays_unless_empty(std::string_view column) {
  return has(kUnlessEmpty, column) || is_metric(column) || is_axis(column) ||
         std::any_of(kGroups.begin(), kGroups.end(),
                     [column](std::string_view group) { return column.starts_with(group); });
}

}  // namespace

void LeanColumn::add(std::string_view cell) {
  if (rows_ == 0) first_ = cell;
  varies_ = varies_ || cell != first_;
  ++rows_;
}

bool LeanColumn::stays() const {
  if (has(kAlways, name_) || varies_) return true;
  const bool is_empty = first_.empty();
  return !is_empty && (rows_ == 1 || stays_unless_empty(name_));
}

}  // namespace sparkbench
