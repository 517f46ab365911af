#include "harness/model/sm/prediction_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/model/sass/function_name.h"
#include "results/render/text_table.h"

namespace sparkbench {
namespace {

constexpr double kNotableChange = 0.005;
constexpr std::size_t kShownReasons = 7;

std::string place_of(const SassFunction& function, const std::optional<CodeLoop>& loop) {
  if (!loop) return "whole";
  return fmt::format("loop {:#x}..{:#x}", function.instructions[loop->head].address,
                     function.instructions[loop->back_edge].address);
}

std::string format_cycles(const LoopPrediction& prediction, const TableView& view) {
  std::string text = fmt::format("{:.1f}", prediction.cycles);
  if (prediction.offsets.size() > 1) text += ", the mean over blocks that start";
  for (const OffsetCycles& one : prediction.offsets) {
    if (prediction.offsets.size() == 1) break;
    text += fmt::format("{} {} apart ({:.1f})", &one == prediction.offsets.data() ? "" : ",",
                        one.offset, one.cycles);
  }
  return format_facts(std::vector<Fact>{{"cycles a pass of all warps:", text}}, view);
}

std::string format_bounds(const LoopPrediction& prediction) {
  std::string text = "  unit           least cycles   in use\n";
  for (const CycleBound& bound : prediction.bounds) {
    text += fmt::format("  {:<12}  {:>13.1f}  {:>6.1f}%\n", name_of(bound.unit), bound.cycles,
                        100 * bound.cycles / prediction.cycles);
  }
  return text;
}

std::string format_waits(const SmResult& result) {
  std::vector<WaitReason> reasons(kWaitReasons);
  for (int i = 0; i < kWaitReasons; ++i) reasons[i] = static_cast<WaitReason>(i);
  std::stable_sort(reasons.begin(), reasons.end(), [&](WaitReason one, WaitReason other) {
    return result.waits[one] > result.waits[other];
  });
  reasons.resize(kShownReasons);
  std::string text = "  a warp's time\n";
  for (const WaitReason reason : reasons) {
    if (result.waits[reason] == 0) break;
    text += fmt::format("  {:<24}  {:>9.1f}%\n", name_of(reason),
                        100 * result.waits[reason] / result.waits.total());
  }
  return text;
}

}  // namespace

std::string format_functions(std::span<const SassFunction> functions, const TableView& view) {
  std::string text;
  for (const SassFunction& function : functions) {
    text += fmt::format("{}: {} instructions, {} bytes\n", demangled(function.symbol),
                        function.instructions.size(), 16 * function.instructions.size());
    for (const CodeLoop& loop : find_loops(function)) {
      text +=
          fmt::format("  {}: {} instructions, {} of tensor cores\n", place_of(function, loop),
                      loop.back_edge - loop.head + 1, count_tensor_instructions(function, loop));
    }
  }
  return wrapped(text, view);
}

std::string format_prediction(const SassFunction& function, const PredictionRequest& request,
                              const LoopPrediction& prediction, const TableView& view) {
  const std::size_t instructions = prediction.walk.path.size();
  std::string text = wrapped(
      fmt::format("{}, {}\n", demangled(function.symbol), place_of(function, prediction.loop)),
      view);
  text += fmt::format("  {} instructions a pass; {} of {} threads on an SM\n", instructions,
                      request.blocks == 1 ? "a block" : fmt::format("{} blocks", request.blocks),
                      request.threads);
  text += format_cycles(prediction, view);
  if (prediction.flop > 0) {
    text += fmt::format("  share of the tensor cores' peak: {:.1f}%\n",
                        100 * prediction.tensor_share());
  }
  text += format_bounds(prediction) + format_waits(prediction.first);
  std::vector<Fact> notes;
  for (const std::string& note : prediction.walk.notes) notes.push_back({"note:", note});
  return text + format_facts(notes, view);
}

std::string format_sensitivity(std::span<const ConstantSensitivity> changes) {
  std::string text = "  in doubt            from      to      cycles\n";
  for (const ConstantSensitivity& one : changes) {
    if (std::max(std::abs(one.cycles_at_least), std::abs(one.cycles_at_most)) < kNotableChange) {
      continue;
    }
    text += fmt::format("  {:<16}  {:>6g}  {:>6g}  {:>+6.1f}%  {:>+6.1f}%\n", one.name, one.least,
                        one.most, 100 * one.cycles_at_least, 100 * one.cycles_at_most);
  }
  return text + "  all others change them by less than 0.5 %\n";
}

}  // namespace sparkbench
