#include "results/render/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "results/record/enum_names.h"
#include "results/record/safe_text.h"
#include "results/render/case_table.h"
#include "results/render/page_columns.h"
#include "results/render/summary.h"
#include "results/study/kernel_statistics.h"
#include "sweeps/layer_axes.h"

namespace sparkbench {

/// page.html at the time of the build (embedded_page.cc.in). It contains THE_RUN once, where the
/// run's JSON goes.
extern const std::string_view kPageTemplate;

namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

/// A number with its uncertainty: the interquartile range of the samples, or the prediction's band.
Json point(double low, double value, double high) {
  return {{"low", low}, {"value", value}, {"high", high}};
}

bool has_measured_throughput(const CaseRecord& record) {
  return record.time_ms && record.tflops && record.valid;
}

/// TFLOP/s, measured or else predicted; null without either.
Json throughput_of(const CaseRecord& record) {
  const double work = static_cast<double>(record.flops) * 1e-9;  // TFLOP/s times milliseconds
  if (has_measured_throughput(record)) {
    const TimeMs& ms = *record.time_ms;
    if (ms.q1 > 0 && ms.q3 > 0) return point(work / ms.q3, *record.tflops, work / ms.q1);
    return point(*record.tflops, *record.tflops, *record.tflops);
  }
  if (!record.predicted) return {};
  const TimeBand& ms = record.predicted->time_ms;
  return point(work / ms.high, record.predicted->tflops, work / ms.low);
}

/// The baseline kernel and the measured ratio; null if there is none, or if it may not be averaged.
Json speedup_of(const CaseRecord& record) {
  if (!is_usable(record) || !record.valid || !record.speedup) return {};
  return {{"over", one_line(record.speedup->over)}, {"value", record.speedup->ratio}};
}

/// The same for predictions, with the band.
Json predicted_speedup_of(const CaseRecord& record) {
  if (!record.predicted || !record.predicted->speedup) return {};
  if (record.status == Status::kIncorrect || record.status == Status::kFailed) return {};
  const PredictedSpeedup& speedup = *record.predicted->speedup;
  const auto& layer = record.problem.layer;
  const bool is_over_itself =
      layer && layer->rest == Rest::kUnfused && speedup.over == record.kernel + ", rest unfused";
  if (is_over_itself) return {};
  Json json = point(speedup.low, speedup.likely, speedup.high);
  json["over"] = one_line(speedup.over);
  return json;
}

/// The mark in place of a point, as in results/plot.py.
std::string mark_of(const CaseRecord& record) {
  const std::string code = record.reason && !record.predicted ? record.reason->code : "";
  if (code == "E-OUT-OF-MEMORY" || code == "E-OOM-PREDICTED") return "OOM";
  if (code == "E-UNSUPPORTED") return "n/s";
  switch (record.status) {
    case Status::kIncorrect:
      return "wrong";
    case Status::kFailed:
      return "failed";
    case Status::kSkipped:
      return "skipped";
    case Status::kOk:
    case Status::kUnverified:
    case Status::kPredicted:
      return "none";
  }
  return "";
}

/// Null for a kernel that does not support the pass.
Json memory_of(const CaseRecord& record) {
  if (!record.memory_bytes || mark_of(record) == "n/s") return {};
  const double mib =
      static_cast<double>(record.memory_bytes->peak.value_or(record.memory_bytes->predicted)) /
      (1 << 20);
  return point(mib, mib, mib);
}

Json error_of_case(const CaseRecord& record) {
  const Json percent = number_or_null(worst_rel_l1(record));
  if (percent.is_null()) return {};
  const double value = 100 * percent.get<double>();
  return point(value, value, value);
}

/// "head_dim 64, mask causal": the varying values that identify a figure's panel.
std::string panel_of(const CaseRecord& record, const std::vector<const Axis*>& varying) {
  std::vector<std::string> parts;
  for (const Axis* axis : varying) {
    const std::string value = text_of_value(axis->access.get(record.problem));
    parts.push_back(fmt::format("{} {}", axis->heading, value.empty() ? "-" : value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool is_length(const Axis& axis) { return axis.name == std::string_view("seqlen_q"); }

/// The axes that vary, except the length and axes that equal their twin in every case.
std::vector<const Axis*> varying_axes(const std::vector<CaseRecord>& cases) {
  std::vector<const Axis*> varying;
  for (const Axis* axis : problem_axes_of(Workload::kLayer)) {
    const auto differs = [axis](const CaseRecord& a, const CaseRecord& b) {
      return axis->access.get(a.problem) != axis->access.get(b.problem);
    };
    const bool varies = std::adjacent_find(cases.begin(), cases.end(), differs) != cases.end();
    const bool is_twin = axis->twin != nullptr &&
                         std::all_of(cases.begin(), cases.end(), [&](const CaseRecord& record) {
                           return equals_twin(*axis, record.problem);
                         });
    if (varies && !is_twin && !is_length(*axis)) varying.push_back(axis);
  }
  return varying;
}

/// The label below a figure's bars: the length, or the model.
Json length_of(const CaseRecord& record) {
  if (record.problem.model) return one_line(*record.problem.model);
  return record.problem.seqlen_q;
}

/// Whether the length and the other axes determine the axis, as with --batch auto.
bool follows(const Axis& axis, const std::vector<const Axis*>& others,
             const std::vector<CaseRecord>& cases) {
  std::map<std::string, AxisValue> values;
  return std::all_of(cases.begin(), cases.end(), [&](const CaseRecord& record) {
    const AxisValue value = axis.access.get(record.problem);
    const std::string at = length_of(record).dump() + panel_of(record, others);
    return values.emplace(at, value).first->second == value;
  });
}

/// The axes with a panel per value, as in results/plot.py: those that vary and do not follow
/// others.
std::vector<const Axis*> panel_axes(const std::vector<CaseRecord>& cases) {
  std::vector<const Axis*> own = varying_axes(cases), derived;
  const bool of_models = std::any_of(cases.begin(), cases.end(), [](const CaseRecord& record) {
    return record.problem.model.has_value();  // whose name determines the shape
  });
  const auto end = std::stable_partition(own.begin(), own.end(), [&](const Axis* axis) {
    return axis->derive == nullptr && !of_models;
  });
  derived.assign(end, own.end());
  own.erase(end, own.end());
  for (const Axis* axis : derived) {
    if (!follows(*axis, own, cases)) own.push_back(axis);
  }
  return own;
}

Json columns_json(const std::vector<PageColumn>& columns) {
  Json json = Json::array();
  for (const PageColumn& each : columns) {
    json.push_back({{"name", each.column->name},
                    {"title", each.title},
                    {"is_text", each.column->is_text},
                    {"is_axis", each.is_axis},
                    {"is_shown", each.is_shown}});
  }
  return json;
}

Json rows_json(const std::vector<CaseRecord>& cases, const std::vector<PageColumn>& columns) {
  const std::vector<const Axis*> axes = panel_axes(cases);
  Json rows = Json::array();
  for (const CaseRecord& record : cases) {
    Json cells = Json::array();
    for (const PageColumn& each : columns) cells.push_back(one_line(each.column->cell(record)));
    rows.push_back(
        {{"cells", cells},
         {"kernel", one_line(record.kernel)},
         {"pass", name_of(record.problem.pass)},
         {"status", name_of(record.status)},
         {"length", length_of(record)},
         {"panel", one_line(panel_of(record, axes))},
         {"throughput", throughput_of(record)},
         {"is_predicted", !has_measured_throughput(record) && record.predicted.has_value()},
         {"is_memory_predicted", record.memory_bytes && !record.memory_bytes->peak},
         {"error", error_of_case(record)},
         {"memory", memory_of(record)},
         {"speedup", speedup_of(record)},
         {"predicted_speedup", predicted_speedup_of(record)},
         {"mark", mark_of(record)}});
  }
  return rows;
}

std::string device_kind(const RunRecord& run) {
  const DeviceInfo& device = run.environment.device;
  return fmt::format("{} ({})", device.name, name_of(device.kind));
}

/// "sparkbench sweep --preset quick, a404e1ec0b (modified), 2026-11-28": distinguishes pages.
std::string title_of(const RunRecord& run) {
  std::vector<std::string> words = {"sparkbench"};
  if (run.run.argv.size() > 1) {
    words.insert(words.end(), run.run.argv.begin() + 1, run.run.argv.end());
  }
  const std::string commit = run.build.git_sha ? run.build.git_sha->substr(0, 10) : "no commit";
  return one_line(fmt::format("{}, {}{}, {}", fmt::join(words, " "), commit,
                              run.build.git_dirty.value_or(false) ? " (modified)" : "",
                              run.run.started_at.substr(0, 10)));
}

/// Everything before the first empty line: device, constants, the legend.
std::string head_text(const RunRecord& run) {
  const std::string table = format_case_table(run, {.columns = {"all"}});
  return table.substr(0, table.find("\n\n"));
}

/// No text of a run may close the HTML element that contains it.
std::string json_for_a_page(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  for (const char character : text) {
    if (character == '<') {
      safe += "\\u003c";
    } else {
      safe += character;
    }
  }
  return safe;
}

void put(const std::string& text, std::string_view place, std::string& page) {
  page.replace(page.find(place), place.size(), text);
}

}  // namespace

std::string format_html_page(const RunRecord& run) {
  const std::vector<PageColumn> columns = page_columns(run.cases);
  const Json document = {{"device", printable(device_kind(run))},
                         {"head", head_text(run)},
                         {"end", format_end(run, {})},
                         {"columns", columns_json(columns)},
                         {"rows", rows_json(run.cases, columns)}};
  std::string page(kPageTemplate);
  put(json_for_a_page(document), "THE_RUN", page);  // first: the title may contain THE_RUN
  put(html_text(title_of(run)), "THE_TITLE", page);
  return page;
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char character : text) {
    if (character == '<' || character == '&') {
      safe += character == '<' ? "&lt;" : "&amp;";
    } else {
      safe += character;
    }
  }
  return safe;
}

}  // namespace sparkbench
