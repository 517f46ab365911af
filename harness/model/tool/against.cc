// sparkbench-model against: the model beside times that others published.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "harness/cli/exit_code.h"
#include "harness/cli/options/table_options.h"
#include "harness/model/against/published_check.h"
#include "harness/model/tool/model_program.h"
#include "kernels/base/files/input_file.h"
#include "results/render/sheet.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct AgainstOptions {
  std::string file;
  bool is_json = false;
  TableOptions table;
};

PublishedTimes read_published(const std::string& path) {
  try {
    constexpr std::uint64_t kMostBytes = 16 << 20;
    PublishedTimes times = published_from_json(read_file(path, Pipes::kRefused, kMostBytes));
    require_kernels(times);
    return times;
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("FILE: {}: {}", path, error.what()));
  }
}

std::string label_of(const PublishedSummary& summary) {
  return summary.class_name + (summary.is_held_out ? ", held out" : "");
}

std::string as_percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

Sheet sheet_of(const std::vector<PublishedSummary>& summaries) {
  Sheet sheet{"Predicted over published times; below 1 the model is too fast", {}};
  const auto add = [&](const char* name, const char* title, auto&& text) {
    SheetColumn column{name, {title, {}, true}};
    for (const PublishedSummary& each : summaries) column.text.cells.push_back(text(each));
    sheet.columns.push_back(std::move(column));
  };
  add("class", "class", label_of);
  sheet.columns.front().text.right_aligned = false;
  add("points", "points", [](const auto& each) { return std::to_string(each.points); });
  add("ratio", "mean\nratio",
      [](const auto& each) { return fmt::format("{:.3f}", each.mean_ratio); });
  add("error", "mean\nerror", [](const auto& each) { return as_percent(each.mean_error); });
  add("worst", "worst\nratio",
      [](const auto& each) { return fmt::format("{:.3f}", each.worst_ratio); });
  add("in_band", "in the\nband", [](const auto& each) { return std::to_string(each.in_band); });
  add("limit", "error\nat most", [](const auto& each) { return as_percent(each.limit); });
  return sheet;
}

nlohmann::ordered_json json_of(const PublishedSummary& summary) {
  return {{"class", summary.class_name},      {"held_out", summary.is_held_out},
          {"points", summary.points},         {"mean_ratio", summary.mean_ratio},
          {"mean_error", summary.mean_error}, {"worst_ratio", summary.worst_ratio},
          {"in_band", summary.in_band},       {"limit", summary.limit}};
}

nlohmann::ordered_json json_of(const PublishedSet& set, const PublishedPoint& point,
                               const ThreeWays& ms) {
  const CaseProblem& problem = point.problem;
  return {{"class", set.class_name},
          {"held_out", set.is_held_out},
          {"source", set.source},
          {"pass", name_of(problem.pass)},
          {"batch", problem.batch},
          {"heads", problem.heads},
          {"seqlen", problem.seqlen_q},
          {"head_dim", problem.head_dim},
          {"published_ms", point.ms},
          {"predicted_ms", {{"low", ms.fast}, {"likely", ms.likely}, {"high", ms.slow}}}};
}

std::string format_against_json(const PublishedTimes& times,
                                const std::vector<PublishedSummary>& summaries) {
  nlohmann::ordered_json document = {{"schema", "sparkbench.published-check 1.0.0"}};
  for (const PublishedSummary& each : summaries) document["classes"].push_back(json_of(each));
  for (const PublishedSet& set : times.sets) {
    for (const PublishedPoint& point : set.points) {
      document["points"].push_back(json_of(set, point, time_of_published(times, set, point).ms));
    }
  }
  return document.dump(2) + "\n";
}

ExitCode run_against(const AgainstOptions& options, const Streams& streams) {
  const PublishedTimes times = read_published(options.file);
  const std::vector<PublishedSummary> summaries = summarize_published(times);
  streams.out << (options.is_json
                      ? format_against_json(times, summaries)
                      : format_sheet(sheet_of(summaries), table_view(options.table, streams.out)));
  ExitCode code = ExitCode::kOk;
  for (const PublishedSummary& each : summaries) {
    if (!each.is_over_limit()) continue;
    code = ExitCode::kFinding;
    streams.err << fmt::format(
        "sparkbench-model: {}: the mean error is {}, at most {} is allowed\n", label_of(each),
        as_percent(each.mean_error), as_percent(each.limit));
  }
  return code;
}

}  // namespace

void add_against_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("against");
  const auto options = std::make_shared<AgainstOptions>();
  command->add_option("FILE", options->file, "published times, such as published_v100.json")
      ->required();
  command->add_flag("--json", options->is_json, "one JSON document, with every point");
  add_sheet_flags(*command, options->table, column_names(std::vector<Sheet>{sheet_of({})}));
  command->callback([options, &invocation, &action] {
    check_table_flags(options->table);
    action = [options, &invocation] { return run_against(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
