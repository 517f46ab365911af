#include "harness/model/sm/prediction_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace sparkbench {
namespace {

constexpr std::size_t kHottest = 25;
constexpr double kLeastWait = 0.5;  // worth a line

double mean_wait(const InstructionWaits& waits) {
  return waits.waits.total() / static_cast<double>(std::max<std::int64_t>(1, waits.issues));
}

/// "scoreboard LDS 12, port tensor 3"
std::string main_reasons(const InstructionWaits& waits) {
  constexpr std::size_t kMost = 2;
  std::vector<WaitReason> reasons;
  for (int i = 0; i < kWaitReasons; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    if (waits.waits[reason] > 0) reasons.push_back(reason);
  }
  std::stable_sort(reasons.begin(), reasons.end(), [&](WaitReason one, WaitReason other) {
    return waits.waits[one] > waits.waits[other];
  });
  reasons.resize(std::min(kMost, reasons.size()));
  std::string text;
  for (const WaitReason reason : reasons) {
    text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", name_of(reason),
                        waits.waits[reason] / static_cast<double>(waits.issues));
  }
  return text;
}

std::set<int> instructions_of(const LoopPrediction& prediction, bool is_full) {
  std::set<int> all;
  for (const PathStep& step : prediction.walk.path) all.insert(step.instruction);
  if (is_full) return all;
  const auto wait = [&](int index) { return mean_wait(prediction.first.instructions[index]); };
  std::vector<int> hottest(all.begin(), all.end());
  std::stable_sort(hottest.begin(), hottest.end(),
                   [&](int one, int other) { return wait(one) > wait(other); });
  hottest.resize(std::min(kHottest, hottest.size()));
  std::erase_if(hottest, [&](int index) { return wait(index) < kLeastWait; });
  return {hottest.begin(), hottest.end()};
}

}  // namespace

std::string annotated_code(const SassFunction& function, const LoopPrediction& prediction,
                           bool is_full, const TableView& view) {
  std::vector<TextColumn> columns = {
      {"addr", {}}, {"wait", {}}, {"code", {}, false}, {"for", {}, false}, {"control", {}, false}};
  for (const int index : instructions_of(prediction, is_full)) {
    const InstructionWaits& waits = prediction.first.instructions[index];
    const TimedInstruction& timed = prediction.code.instructions[index];
    const std::array<std::string, 5> cells = {
        fmt::format("{:x}", timed.address), fmt::format("{:.1f}", mean_wait(waits)),
        text_of(function.instructions[index]), main_reasons(waits), format_control(timed.control)};
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  return format_columns(columns, view, 2);
}

}  // namespace sparkbench
