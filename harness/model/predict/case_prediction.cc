#include "harness/model/predict/case_prediction.h"

#include <fmt/format.h>

#include <utility>

#include "harness/model/predict/eager_attention.h"
#include "harness/model/predict/problem_time.h"
#include "harness/model/predict/unfused_time.h"
#include "harness/model/predict/v100_constants.h"
#include "kernels/base/saturating.h"
#include "kernels/registry.h"
#include "results/render/number_format.h"
#include "sweeps/memory.h"

namespace sparkbench {
namespace {

std::uint64_t unfused_bytes(const CaseProblem& problem) {
  return saturating_sum({tensor_bytes(problem.pass, problem),
                         unfused_workspace_bytes(problem.pass, problem, sizeof(Half))});
}

std::optional<PredictedSpeedup> predicted_speedup(const CaseRecord& record, const ThreeWays& ms,
                                                  const PredictedCard& card) {
  const CaseProblem& problem = record.problem;
  if (record.kernel == card.baseline) return std::nullopt;
  if (!why_too_large(unfused_bytes(problem), card).empty()) return std::nullopt;
  const ThreeWays baseline = time_of_unfused(problem, problem.pass).ms;
  return PredictedSpeedup{card.baseline, baseline.fast / ms.slow, baseline.likely / ms.likely,
                          baseline.slow / ms.fast};
}

}  // namespace

std::string why_too_large(std::uint64_t bytes, const PredictedCard& card) {
  if (bytes <= card.memory_bytes) return "";
  return fmt::format("needs {}, the {} has {}", format_memory(bytes), card.device,
                     format_memory(card.memory_bytes));
}

std::optional<PredictedCard> predicted_card(const DeviceInfo& device, const std::string& baseline) {
  const bool is_v100 = device.sm == kModelledSm && device.name.find("V100") != std::string::npos;
  // The constants are the SXM2 card's; the PCIe card has other clocks.
  if (!is_v100 || device.name.find("PCI") != std::string::npos) return std::nullopt;
  PredictedCard card{.baseline = baseline, .device = device.name};
  if (device.kind == DeviceKind::kEmulated) return card;
  if (device.sm_count) card.sms = *device.sm_count;
  if (device.memory_bytes) card.memory_bytes = *device.memory_bytes;
  return card;
}

AttentionPrediction predict_attention(const std::string& kernel_name, const CaseProblem& problem,
                                      bool is_deterministic, const PredictedCard& card,
                                      const CyclesFile& cycles) {
  if (kernel_name == card.baseline) {
    if (problem.lengths && problem.layer && problem.layer->rest == Rest::kEager) {
      return {{}, 0, Reason{"P-NO-MODEL", "eager PyTorch pads sequences of several lengths"}};
    }
    const std::vector<UnfusedStep> steps = baseline_attention(problem);
    return {time_of_unfused_steps(steps), static_cast<int>(steps.size()), {}};
  }
  const AttentionKernel* const kernel = find_attention_kernel(kernel_name);
  if (kernel == nullptr || kernel->instruction != MmaInstruction::kM8n8k4) {
    return {{}, 0, Reason{"P-NO-MODEL", fmt::format("there is no model of {}", kernel_name)}};
  }
  try {
    const std::vector<PassLaunch> launches =
        launches_of_pass(*kernel, problem, problem.pass, is_deterministic);
    PassTime time = time_of_launches(launches, cycles, card.sms);
    if (!time.why_not.empty()) return {{}, 0, Reason{"P-NO-CYCLES", std::move(time.why_not)}};
    return {std::move(time), static_cast<int>(launches.size()), {}};
  } catch (const NoInstance& error) {
    return {{}, 0, Reason{"P-NO-CYCLES", error.what()}};
  }
}

CasePrediction predict_case(const CaseRecord& record, bool is_deterministic,
                            const PredictedCard& card, const CyclesFile& cycles) {
  const std::uint64_t bytes = record.memory_bytes ? record.memory_bytes->predicted : 0;
  if (std::string why = why_too_large(bytes, card); !why.empty()) {
    return {std::nullopt, Reason{"P-TOO-LARGE", std::move(why)}};
  }
  if (record.problem.layout != TensorLayout::kBshd) {
    return {std::nullopt, Reason{"P-NO-MODEL", fmt::format("the model's tensors are bshd, not {}",
                                                           name_of(record.problem.layout))}};
  }
  if (record.flops == 0) {
    return {std::nullopt, Reason{"P-NO-WORK", "there is nothing to multiply"}};
  }
  AttentionPrediction found =
      predict_attention(record.kernel, record.problem, is_deterministic, card, cycles);
  if (!found.time) return {std::nullopt, std::move(found.why_not)};
  const PassTime& time = *found.time;
  const bool is_baseline = record.kernel == card.baseline;
  Prediction predicted;
  predicted.chip = kPredictedChip;
  predicted.basis = is_baseline ? kPredictedByRates : kPredictedByCycles;
  predicted.time_ms = {time.ms.fast, time.ms.likely, time.ms.slow};
  predicted.tflops = static_cast<double>(record.flops) / time.ms.likely * 1e-9;
  if (!is_baseline) {
    predicted.clock_mhz = kSustainedClockMhz;
    predicted.low_clock_mhz = kBoostClockMhz;
  }
  predicted.binding = time.binding;
  predicted.speedup = predicted_speedup(record, time.ms, card);
  return {predicted, std::nullopt};
}

}  // namespace sparkbench
