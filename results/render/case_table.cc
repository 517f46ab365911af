#include "results/render/case_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "results/record/enum_names.h"
#include "results/render/layer_table.h"
#include "results/render/number_format.h"
#include "results/render/tensors_read.h"
#include "results/study/kernel_statistics.h"
#include "results/study/prediction_check.h"
#include "sweeps/layer_axes.h"

namespace sparkbench {
namespace {

using CellOf = std::function<std::string(const CaseRecord&)>;

struct ColumnRule {
  std::string_view title;
  CellOf cell;                 // "" where the case has no value
  const Axis* axis = nullptr;  // whose value it is
};

constexpr std::string_view kNoValue = "-";

template <class T>
std::string digits_of(const std::optional<T>& value, int digits) {
  return value ? significant(*value, digits) : "";
}

/// rel_l1 of one output in percent.
CellOf rel_l1_percent_cell(std::string_view output) {
  return [output](const CaseRecord& record) {
    const Accuracy* accuracy = find_accuracy(record, output);
    return accuracy != nullptr ? significant(100.0 * accuracy->rel_l1, 3) : "";
  };
}

CellOf worst_error_cell(double Accuracy::*metric) {
  return [metric](const CaseRecord& record) {
    std::vector<double> errors;
    for (const Accuracy* accuracy : accuracies_of(record)) errors.push_back(accuracy->*metric);
    const std::optional<double> worst = largest(errors);
    return worst ? scientific(*worst, 3) : "";
  };
}

/// "ok (2.2x)" of what is ok beside the unfused computation with its own accumulator alone.
std::string status_cell(const CaseRecord& record) {
  std::string status(name_of(record.status));
  const Warning* over = find_warning(record, kOverUnfusedWarning);
  if (record.status != Status::kOk || over == nullptr || !over->value) return status;
  return fmt::format("{} ({}x)", status, significant(*over->value, 2));
}

std::string time_cell(const CaseRecord& record) {
  if (!record.time_ms) return "";
  return significant(record.time_ms->median, 4) + (record.valid ? "" : " (invalid)");
}

/// "1.02 (0.92-1.21)"
std::string predicted_ms_cell(const CaseRecord& record) {
  if (!record.predicted) return "";
  const TimeBand& ms = record.predicted->time_ms;
  return fmt::format("{} ({}-{})", significant(ms.likely, 3), significant(ms.low, 3),
                     significant(ms.high, 3));
}

/// "6.1x (4.9-7.5)"
std::string predicted_speedup_cell(const CaseRecord& record) {
  if (!record.predicted || !record.predicted->speedup) return "";
  const PredictedSpeedup& speedup = *record.predicted->speedup;
  return fmt::format("{}x ({}-{})", significant(speedup.likely, 2), significant(speedup.low, 2),
                     significant(speedup.high, 2));
}

std::string predicted_tflops_cell(const CaseRecord& record) {
  return record.predicted ? significant(record.predicted->tflops, 3) : "";
}

std::string predicted_binding_cell(const CaseRecord& record) {
  return record.predicted ? record.predicted->binding : "";
}

std::string over_predicted_cell(const CaseRecord& record) {
  const auto check = check_prediction(record);
  if (!check) return "";
  return significant(check->ratio, 3) + (check->is_in_band ? "" : " (outside)");
}

/// "24"; "" of attention alone.
std::string attention_share_cell(const CaseRecord& record) {
  if (!record.layer || !record.layer->attention_share) return "";
  return significant(100 * *record.layer->attention_share, 2);
}

std::string launches_cell(const CaseRecord& record) {
  return record.layer ? std::to_string(record.layer->launches) : "";
}

/// What the baseline is predicted to take is there to compare kernels with.
bool has_predicted_kernel(const std::vector<CaseRecord>& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const CaseRecord& record) {
    return record.role == Role::kFused && record.predicted.has_value();
  });
}

/// Of a pattern; of any other mask it is known by heart.
std::string density_cell(const CaseRecord& record) {
  if (!record.problem.pattern_spec || !record.mask_work) return "";
  const std::optional<double>& density = record.mask_work->density;
  return density ? significant(100.0 * *density, 3) : "";
}

std::string memory_cell(const CaseRecord& record) {
  if (!record.memory_bytes) return "";
  return format_memory(record.memory_bytes->peak.value_or(record.memory_bytes->predicted));
}

std::string unfused_memory_cell(const CaseRecord& record) {
  if (!record.memory_bytes || !record.memory_bytes->unfused) return "";
  return format_memory(*record.memory_bytes->unfused);
}

/// What was asked. Leads the table where it varies, and its head where it does not.
std::vector<ColumnRule> axis_rules() {
  std::vector<ColumnRule> rules = {{"kernel", [](const CaseRecord& c) { return c.kernel; }}};
  for (const Axis* axis : problem_axes_of(Workload::kLayer)) {
    rules.push_back(
        {axis->heading,
         [axis](const CaseRecord& c) { return text_of_value(axis->access.get(c.problem)); }, axis});
  }
  return rules;
}

/// What a model says of a chip.
std::vector<ColumnRule> predicted_rules() {
  return {
      {"predicted_ms", predicted_ms_cell},
      {"predicted_tflops", predicted_tflops_cell},
      {"predicted_by", predicted_binding_cell},
      {"predicted_speedup", predicted_speedup_cell},
      {"measured/predicted", over_predicted_cell},
      {"attention %", attention_share_cell},
      {"launches", launches_cell},
  };
}

/// What came out. Always in the table, unless no case has a value.
std::vector<ColumnRule> result_rules() {
  return {
      {"time_ms", time_cell},
      {"tflops", [](const CaseRecord& c) { return digits_of(c.tflops, 4); }},
      {"bound_tflops",
       [](const CaseRecord& c) { return c.bound ? significant(c.bound->tflops, 4) : ""; }},
      {"bound_by",
       [](const CaseRecord& c) { return std::string(c.bound ? name_of(c.bound->binding) : ""); }},
      {"speedup",
       [](const CaseRecord& c) { return c.speedup ? significant(c.speedup->ratio, 3) : ""; }},
      {"density %", density_cell},
      {"memory", memory_cell},
      {"unfused_memory", unfused_memory_cell},
      {"rel_l1 %", rel_l1_percent_cell("o")},
      {"dq_rel_l1 %", rel_l1_percent_cell("dq")},
      {"dk_rel_l1 %", rel_l1_percent_cell("dk")},
      {"dv_rel_l1 %", rel_l1_percent_cell("dv")},
      {"rel_l2", worst_error_cell(&Accuracy::rel_l2)},
      {"max_abs", worst_error_cell(&Accuracy::max_abs)},
      {"error_over_unfused",
       [](const CaseRecord& c) { return digits_of(worst_error_over_unfused(c), 3); }},
      {"status", status_cell},
  };
}

TextColumn make_column(const ColumnRule& rule, const std::vector<CaseRecord>& cases) {
  TextColumn column;
  column.title = rule.title;
  for (const CaseRecord& record : cases) column.cells.push_back(rule.cell(record));
  column.right_aligned = rule.title != "kernel" && rule.title != "input" &&
                         rule.title != "bound_by" && rule.title != "predicted_by" &&
                         rule.title != "status";
  return column;
}

bool is_constant(const TextColumn& column) {
  return std::adjacent_find(column.cells.begin(), column.cells.end(), std::not_equal_to<>()) ==
         column.cells.end();
}

bool has_no_value(const TextColumn& column) {
  return std::all_of(column.cells.begin(), column.cells.end(),
                     [](const std::string& cell) { return cell.empty(); });
}

bool all_equal_twin(const Axis& axis, const std::vector<CaseRecord>& cases) {
  return std::all_of(cases.begin(), cases.end(),
                     [&](const CaseRecord& record) { return equals_twin(axis, record.problem); });
}

/// Whether the value, which all cases share, goes without saying: an id leaves it out too.
bool is_usual(const Axis& axis, const CaseRecord& record) {
  const std::vector<AxisValue>& usual = axis.id.usual;
  return std::find(usual.begin(), usual.end(), axis.access.get(record.problem)) != usual.end();
}

bool is_over_unfused(const CaseRecord& record) {
  return record.status == Status::kOk && find_warning(record, kOverUnfusedWarning) != nullptr;
}

bool is_not_finite(const CaseRecord& record) {
  const std::vector<const Accuracy*> accuracies = accuracies_of(record);
  return std::any_of(accuracies.begin(), accuracies.end(),
                     [](const Accuracy* accuracy) { return accuracy->nonfinite != 0; });
}

/// "speedup is over cublas-fp16"; "" without any.
std::string speedup_legend(const std::vector<CaseRecord>& cases) {
  std::set<std::string> names;
  for (const CaseRecord& record : cases) {
    if (record.speedup) names.insert(record.speedup->over);
  }
  if (names.empty()) return "";
  return fmt::format("speedup is over {}\n", fmt::join(names, " or "));
}

/// Of the predicted columns; "" without any.
std::string prediction_legend(const std::vector<CaseRecord>& cases) {
  if (!has_predicted_kernel(cases)) return "";
  std::set<std::string> chips, baselines;
  for (const CaseRecord& record : cases) {
    if (!record.predicted) continue;
    chips.insert(record.predicted->chip);
    if (record.predicted->speedup) baselines.insert(record.predicted->speedup->over);
  }
  std::string legend = fmt::format(
      "predicted_ms is what a model of the {} makes likely (between the ends of its band), not "
      "measured\n",
      fmt::join(chips, " or "));
  if (!baselines.empty()) {
    legend +=
        fmt::format("predicted_speedup is over {}, whose own prediction goes by published rates\n",
                    fmt::join(baselines, " or "));
  }
  const bool is_checked = std::any_of(cases.begin(), cases.end(), [](const CaseRecord& record) {
    return check_prediction(record).has_value();
  });
  return legend + (is_checked
                       ? "measured/predicted is time_ms over the likely one, outside: of the band\n"
                       : "");
}

/// Of the columns that do not explain themselves.
std::string legend_of(const std::vector<CaseRecord>& cases) {
  const auto any = [&](auto holds) { return std::any_of(cases.begin(), cases.end(), holds); };
  std::string legend;
  const auto bounded = std::find_if(cases.begin(), cases.end(),
                                    [](const CaseRecord& c) { return c.bound.has_value(); });
  if (bounded != cases.end()) {
    legend += fmt::format(
        "bound_tflops is what the counts allow a {} at most, bound_by what it runs out of; neither "
        "is measured\n",
        bounded->bound->chip);
  }
  if (any([](const CaseRecord& c) { return !density_cell(c).empty(); })) {
    legend += "density is the visible pairs over all, of patterns\n";
  }
  if (any([](const CaseRecord& c) { return c.memory_bytes && c.memory_bytes->unfused; })) {
    legend += "unfused_memory is predicted, of the unfused computation in fp16\n";
  }
  legend += prediction_legend(cases);
  legend += speedup_legend(cases);
  if (any([](const CaseRecord& c) { return worst_error_over_unfused(c).has_value(); })) {
    legend += fmt::format("error_over_unfused is {}\n", kErrorOverUnfusedMeaning);
  }
  if (any([](const CaseRecord& c) { return c.gradient_accuracy.has_value(); })) {
    legend +=
        "rel_l2, max_abs and error_over_unfused of a backward pass are the largest of its "
        "gradients'\n";
  }
  if (any(is_over_unfused)) {
    legend +=
        "ok (Nx) is ok beside the unfused computation with the same accumulator, but N times the "
        "error of that with FP32 accumulators\n";
  }
  if (any(is_not_finite)) legend += "an output that is not finite has no error: -\n";
  return legend;
}

std::string head_of(const RunRecord& run, const std::vector<std::string>& constants) {
  const DeviceInfo& device = run.environment.device;
  std::string head = device.name;
  if (device.kind == DeviceKind::kEmulated) {
    head += fmt::format(" (emulated, {} arithmetic)", device.arithmetic);
  }
  for (const std::string& constant : constants) head += ", " + constant;
  return head + "\n" + tensors_line(run) + legend_of(run.cases) + "\n";
}

}  // namespace

std::string format_case_table(const RunRecord& run, TableStyle style) {
  std::vector<std::string> constants;
  std::vector<TextColumn> columns;
  for (const ColumnRule& rule : axis_rules()) {
    TextColumn column = make_column(rule, run.cases);
    if (has_no_value(column)) continue;
    if (rule.axis != nullptr && all_equal_twin(*rule.axis, run.cases)) {
      if (rule.axis->id.is_left_out_like_twin) continue;
      constants.push_back(fmt::format("{} = {}", rule.title, find_axis(rule.axis->twin).heading));
    } else if (!is_constant(column)) {
      columns.push_back(std::move(column));
    } else if (rule.axis == nullptr || !is_usual(*rule.axis, run.cases.front())) {
      constants.push_back(fmt::format("{} {}", rule.title, column.cells.front()));
    }
  }
  std::vector<ColumnRule> results = result_rules();
  if (has_predicted_kernel(run.cases)) {
    const std::vector<ColumnRule> predicted = predicted_rules();
    results.insert(results.begin() + 2, predicted.begin(), predicted.end());  // behind the time
  }
  for (const ColumnRule& rule : results) {
    TextColumn column = make_column(rule, run.cases);
    if (has_no_value(column)) continue;
    std::replace(column.cells.begin(), column.cells.end(), std::string(), std::string(kNoValue));
    columns.push_back(std::move(column));
  }
  const std::string layers = format_layer_table(run, style);
  return head_of(run, constants) + format_columns(columns, style) +
         (layers.empty() ? "" : "\n" + layers);
}

}  // namespace sparkbench
