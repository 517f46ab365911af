#include "harness/model/sm/loop_prediction.h"

#include <fmt/core.h>

#include "harness/model/sm/unseen.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr int kMostWarps = 64;  // that an SM holds

void check_launch(const PredictionRequest& request) {
  if (request.threads < 32 || request.threads > 1024 || request.threads % 32 != 0) {
    throw UsageError(
        fmt::format("--threads: {} of a block; allowed: 32 to 1024, whole warps", request.threads));
  }
  const int most = kMostWarps / (request.threads / 32);
  if (request.blocks < 1 || request.blocks > std::min(most, 32)) {
    throw UsageError(fmt::format("--blocks: {} of {} threads; allowed: 1 to {} on an SM",
                                 request.blocks, request.threads, std::min(most, 32)));
  }
}

SmWork work_of(const BlockPaths& block, const PredictionRequest& request, int offset) {
  SmWork work;
  work.blocks.assign(request.blocks, &block);
  work.start_offsets = staggered_starts(request.blocks, offset);
  work.repeats = !request.is_whole;
  work.warm = request.warm;
  work.measured = request.measured;
  return work;
}

std::int64_t flop_of(const WarpPath& path, const TimedCode& code) {
  std::int64_t flop = 0;
  for (const PathStep& step : path) {
    if (step.is_executed) flop += code.instructions[step.instruction].flop;
  }
  return flop;
}

void note_unknown_opcodes(const SassFunction& function, LoopPrediction& prediction) {
  for (const PathStep& step : prediction.walk.path) {
    const TimedInstruction& timed = prediction.code.instructions[step.instruction];
    if (timed.timing_class != TimingClass::kOther) continue;
    prediction.walk.notes.insert(fmt::format("{} is not known: an issue slot only",
                                             function.instructions[step.instruction].opcode));
  }
}

}  // namespace

LoopPrediction predict_loop(const SassFunction& function, const PredictionRequest& request) {
  check_launch(request);
  LoopPrediction prediction;
  prediction.code = time_code(function, request.constants, request.conflicts);
  if (request.is_whole) {
    prediction.walk = walk_whole(function, request.policy);
  } else {
    prediction.loop = pick_loop(function, request.loop);
    prediction.walk = walk_loop(function, *prediction.loop, request.policy);
  }
  if (prediction.walk.path.empty()) {
    throw UsageError(fmt::format("--function: {} has no instruction", function.symbol));
  }
  note_unknown_opcodes(function, prediction);
  const int warps = request.threads / 32;
  prediction.walk.notes.merge(
      notes_of_unseen(function, prediction.walk.path, warps * request.blocks, !request.is_whole));
  const BlockPaths block = block_of(prediction.walk.path, prediction.code, warps);
  prediction.warps = warps * request.blocks;
  prediction.flop = flop_of(prediction.walk.path, prediction.code) * prediction.warps;
  prediction.bounds = cycle_bounds(prediction.code, std::vector(request.blocks, &block));
  for (const int offset : request.offsets) {
    SmResult result = simulate(prediction.code, work_of(block, request, offset));
    prediction.offsets.push_back({offset, result.cycles_per_pass()});
    prediction.cycles += result.cycles_per_pass() / static_cast<double>(request.offsets.size());
    if (prediction.offsets.size() == 1) prediction.first = std::move(result);
  }
  return prediction;
}

std::vector<ConstantSensitivity> sensitivity_of(const SassFunction& function,
                                                const PredictionRequest& request,
                                                const LoopPrediction& prediction) {
  const auto change = [&](const PredictionRequest& changed) {
    return predict_loop(function, changed).cycles / prediction.cycles - 1.0;
  };
  std::vector<ConstantSensitivity> changes;
  for (const ConstantInfo& info : constant_infos()) {
    if (!info.doubt) continue;
    PredictionRequest least = request, most = request;
    set_value(least.constants, info, info.doubt->first);
    set_value(most.constants, info, info.doubt->second);
    changes.push_back({std::string(info.name), info.doubt->first, info.doubt->second, change(least),
                       change(most)});
  }
  if (request.blocks > 1) {
    constexpr int kMostOffset = 3000;
    PredictionRequest least = request, most = request;
    least.offsets = {0};
    most.offsets = {kMostOffset};
    changes.push_back({"offset", 0, kMostOffset, change(least), change(most)});
  }
  return changes;
}

}  // namespace sparkbench
