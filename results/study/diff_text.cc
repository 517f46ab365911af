#include "results/study/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "results/record/safe_text.h"
#include "results/render/number_format.h"
#include "results/render/sheet.h"

namespace sparkbench {
namespace {

std::string ms_or_dash(const std::optional<double>& ms) { return ms ? significant(*ms, 4) : "-"; }

std::string change_or_dash(const std::optional<MedianRatio>& ratio) {
  return ratio ? fmt::format("{:+.2f}", 100 * (ratio->value - 1)) : "-";
}

/// The larger of the two; a smaller change would not have been seen.
std::string doubt_or_dash(const CaseDiff& diff) {
  if (!diff.time) return "-";
  const double doubt = std::max(diff.time->doubt, diff.cycles ? diff.cycles->doubt : 0);
  return fmt::format("{:.2f}", 100 * doubt);
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

std::string verdicts_of(const CaseDiff& diff) {
  std::vector<std::string> texts;
  for (const CaseFinding& finding : diff.findings) {
    texts.push_back(std::string(name_of(finding.verdict)) +
                    (finding.why.empty() ? "" : " (" + shortened(finding.why) + ")"));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

Sheet sheet_of(const std::vector<CaseDiff>& diffs) {
  Sheet sheet{"",
              {{"case", {"case", {}, false}},
               {"first_ms", {"first\nms", {}}},
               {"second_ms", {"second\nms", {}}},
               {"time", {"time\n%", {}}},
               {"cycles", {"cycles\n%", {}}},
               {"doubt", {"doubt\n%", {}}},
               {"verdict", {"verdict", {}, false}}}};
  for (const CaseDiff& diff : diffs) {
    const std::array<std::string, 7> cells = {diff.id,
                                              ms_or_dash(diff.first_ms),
                                              ms_or_dash(diff.second_ms),
                                              change_or_dash(diff.time),
                                              change_or_dash(diff.cycles),
                                              doubt_or_dash(diff),
                                              verdicts_of(diff)};
    for (std::size_t i = 0; i < cells.size(); ++i) sheet.columns[i].text.cells.push_back(cells[i]);
  }
  return sheet;
}

std::string format_cases(const std::vector<CaseDiff>& diffs, bool shows_all,
                         const TableView& view) {
  std::vector<CaseDiff> shown;
  std::copy_if(diffs.begin(), diffs.end(), std::back_inserter(shown),
               [&](const CaseDiff& diff) { return shows_all || !diff.has(Verdict::kSame); });
  return shown.empty() ? "" : format_sheet(sheet_of(shown), view) + "\n";
}

std::string format_counts_of(const std::vector<CaseDiff>& diffs) {
  std::vector<std::string> counts;
  for (const Verdict verdict : all_verdicts()) {
    const std::size_t count = count_of(diffs, verdict);
    if (count > 0) counts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  }
  return counts.empty() ? "no cases" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string format_means(const std::vector<CaseDiff>& diffs) {
  const MeanRatios means = mean_ratios(diffs);
  if (!means.time) return "";
  const std::string cycles =
      means.cycles ? fmt::format(" and {} times the cycles", significant(*means.cycles, 4)) : "";
  return fmt::format("; the second run takes {} times as long{} (geometric mean)",
                     significant(*means.time, 4), cycles);
}

std::string format_predictions(std::string_view run,
                               const std::vector<PredictionSummary>& predictions) {
  std::string text;
  for (const PredictionSummary& each : predictions) {
    text += fmt::format("{}: {}\n", run, describe(each));
  }
  return text;
}

std::string format_steps(const std::vector<CaseDiff>& diffs) {
  std::string text;
  for (const Verdict verdict : all_verdicts()) {
    const CaseDiff* const worst = worst_of(diffs, verdict);
    if (worst == nullptr || verdict == Verdict::kSame) continue;
    text += fmt::format("{}: {}\n", name_of(verdict), next_step(verdict));
    if (!worst->repro.empty()) text += fmt::format("  {}\n", worst->repro);
  }
  return text;
}

}  // namespace

std::vector<std::string> diff_column_names() {
  const std::vector<Sheet> sheets = {sheet_of({})};
  return column_names(sheets);
}

std::string format_diff(const RunDiff& diff, bool shows_all, const TableView& view) {
  std::string text;
  for (const Difference& each : diff.differences) {
    text += fmt::format("{} is {} and {}\n", each.field, each.first, each.second);
  }
  for (const Difference& doubt : diff.doubts) {
    text += fmt::format("in doubt: {} is {} and {}\n", doubt.field, doubt.first, doubt.second);
  }
  if (!diff.is_first_complete) text += "the first run is not complete\n";
  if (!diff.is_second_complete) text += "the second run is not complete\n";
  if (!text.empty()) text += '\n';
  const std::string end = format_counts_of(diff.cases) + format_means(diff.cases) + ".\n" +
                          format_predictions("first run", diff.first_predictions) +
                          format_predictions("second run", diff.second_predictions) +
                          format_steps(diff.cases);
  return wrapped(printable(text), view) + format_cases(diff.cases, shows_all, view) +
         wrapped(printable(end), view);
}

}  // namespace sparkbench
