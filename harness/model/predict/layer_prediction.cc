#include "harness/model/predict/case_prediction.h"

#include <utility>

#include "harness/model/predict/layer_time.h"

namespace sparkbench {
namespace {

struct LayerTimeOrReason {
  std::optional<LayerTime> time;
  std::optional<Reason> why_not;
};

LayerTimeOrReason layer_by(const std::string& kernel, const CaseProblem& problem,
                           bool is_deterministic, const PredictedCard& card,
                           const CyclesFile& cycles) {
  AttentionPrediction attention =
      predict_attention(kernel, problem, is_deterministic, card, cycles);
  if (!attention.time) return {{}, std::move(attention.why_not)};
  return {time_of_layer(layer_steps(*problem.layer, problem, problem.pass),
                        {attention.time->ms, attention.launches, attention.time->binding}),
          {}};
}

TimeBand band_of(const ThreeWays& ms) { return {ms.fast, ms.likely, ms.slow}; }

void tell_stages(const LayerTime& time, LayerOutcome& layer) {
  layer.launches = 0;
  for (std::size_t i = 0; i < layer.stages.size(); ++i) {
    layer.stages[i].predicted_ms = band_of(time.stage_ms.at(i));
    layer.stages[i].launches = time.launches.at(i);
    layer.launches += time.launches.at(i);
  }
  layer.attention_share =
      time.stage_ms.at(static_cast<std::size_t>(Stage::kMha)).likely / time.whole.ms.likely;
}

/// The rest of the layer that a speed-up is over: an eager layer's is eager, too.
Rest rest_of_baseline(Rest rest) { return rest == Rest::kEager ? rest : Rest::kUnfused; }

/// "unfused-fp16, rest unfused"
std::string name_of_layer_baseline(const PredictedCard& card, Rest rest) {
  return card.baseline + ", rest " + std::string(name_of(rest));
}

bool is_multiplied(const CaseProblem& problem, const std::optional<SoftwareFactor>& software) {
  return software && problem.layer->rest == Rest::kEager;
}

/// All but the attention if a kernel computes it, and the whole.
void multiply_stages(double factor, bool has_kernel, LayerTime& time) {
  ThreeWays whole{};
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    ThreeWays& ms = time.stage_ms.at(i);
    const double by = has_kernel && kStages.at(i) == Stage::kMha ? 1 : factor;
    ms = {by * ms.fast, by * ms.likely, by * ms.slow};
    whole = {whole.fast + ms.fast, whole.likely + ms.likely, whole.slow + ms.slow};
  }
  time.whole.ms = whole;
}

Warning warning_of(const SoftwareFactor& software) {
  return {"W-SOFTWARE-FACTOR",
          "predicted times of what PyTorch launches are multiplied by --software-factor " +
              text_of(software),
          software.factor};
}

}  // namespace

CasePrediction predict_layer(CaseRecord& record, bool is_deterministic,
                             const std::optional<SoftwareFactor>& software,
                             const PredictedCard& card, const CyclesFile& cycles) {
  if (std::string why = why_too_large(record.memory_bytes->predicted, card); !why.empty()) {
    return {std::nullopt, Reason{"P-TOO-LARGE", std::move(why)}};
  }
  LayerTimeOrReason found = layer_by(record.kernel, record.problem, is_deterministic, card, cycles);
  if (!found.time) return {std::nullopt, std::move(found.why_not)};
  const bool is_by_cycles = record.kernel != card.baseline;
  Prediction predicted;
  if (is_multiplied(record.problem, software)) {
    multiply_stages(software->factor, is_by_cycles, *found.time);
    record.warnings.push_back(warning_of(*software));
    predicted.software = software;
  }
  tell_stages(*found.time, *record.layer);
  const ThreeWays& ms = found.time->whole.ms;
  predicted.chip = kPredictedChip;
  predicted.basis = is_by_cycles ? kPredictedByBoth : kPredictedByRates;
  predicted.time_ms = band_of(ms);
  predicted.tflops = static_cast<double>(record.flops) / ms.likely * 1e-9;
  if (is_by_cycles) {
    predicted.clock_mhz = kSustainedClockMhz;
    predicted.low_clock_mhz = kBoostClockMhz;
  }
  predicted.binding = found.time->whole.binding;
  const Rest rest = rest_of_baseline(record.problem.layer->rest);
  const bool is_baseline = !is_by_cycles && record.problem.layer->rest == rest;
  const bool fits = why_too_large(record.memory_bytes->unfused.value(), card).empty();
  if (is_baseline || !fits) return {predicted, std::nullopt};
  CaseProblem unfused = record.problem;
  unfused.layer->rest = rest;
  LayerTimeOrReason baseline = layer_by(card.baseline, unfused, is_deterministic, card, cycles);
  if (!baseline.time) return {predicted, std::nullopt};
  if (is_multiplied(unfused, software)) multiply_stages(software->factor, false, *baseline.time);
  const ThreeWays& over = baseline.time->whole.ms;
  predicted.speedup = PredictedSpeedup{name_of_layer_baseline(card, rest), over.fast / ms.slow,
                                       over.likely / ms.likely, over.slow / ms.fast};
  return {predicted, std::nullopt};
}

}  // namespace sparkbench
