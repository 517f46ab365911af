#include "harness/model/predict/layer_time.h"

#include <algorithm>

#include "harness/model/predict/unfused_time.h"

namespace sparkbench {
namespace {

constexpr double kFlopsPerMsOfTflops = 1e9;
constexpr double kBytesPerMsOfGbps = 1e6;

double rate_ms(const LayerStep& step, double ThreeWays::*way) {
  if (step.kind != StepKind::kProduct) return 0;
  const bool is_narrow = step.least_extent != 0 && step.least_extent <= kNarrowGemmExtent;
  const double at_most = is_narrow ? kGemmTflopsAtMost.*way : kGemmRates.back().tflops;
  const auto flops = static_cast<double>(step.flops);
  return flops / (gemm_tflops(flops, at_most) * kFlopsPerMsOfTflops);
}

double bytes_ms(const LayerStep& step, double gbps) {
  return static_cast<double>(step.bytes()) / (gbps * kBytesPerMsOfGbps);
}

double step_ms(const LayerStep& step, double ThreeWays::*way) {
  return (std::max(rate_ms(step, way), bytes_ms(step, kHbmGbps.*way)) + kLaunchMs) /
         (kShareOfRates.*way);
}

void add(ThreeWays& sum, const ThreeWays& more) {
  sum.fast += more.fast;
  sum.likely += more.likely;
  sum.slow += more.slow;
}

ThreeWays time_of_step(const LayerStep& step) {
  return {step_ms(step, &ThreeWays::fast), step_ms(step, &ThreeWays::likely),
          step_ms(step, &ThreeWays::slow)};
}

bool is_bound_by_rate(const LayerStep& step) {
  return rate_ms(step, &ThreeWays::likely) > bytes_ms(step, kHbmGbps.likely);
}

}  // namespace

ThreeWays time_of_steps(const std::vector<LayerStep>& steps) {
  ThreeWays sum{};
  for (const LayerStep& step : steps) {
    if (step.kind != StepKind::kAttention) add(sum, time_of_step(step));
  }
  return sum;
}

LayerTime time_of_layer(const std::vector<LayerStep>& steps, const AttentionTime& attention) {
  LayerTime time;
  const auto mha = static_cast<std::size_t>(Stage::kMha);
  double tensor = 0;
  for (const LayerStep& step : steps) {
    if (step.kind == StepKind::kAttention) continue;
    const auto stage = static_cast<std::size_t>(step.stage);
    add(time.stage_ms.at(stage), time_of_step(step));
    ++time.launches.at(stage);
    if (is_bound_by_rate(step)) tensor += rate_ms(step, &ThreeWays::likely);
  }
  time.stage_ms.at(mha) = attention.ms;
  time.launches.at(mha) = attention.launches;
  int launches = 0;
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    add(time.whole.ms, time.stage_ms.at(i));
    launches += time.launches.at(i);
  }
  const double likely = time.whole.ms.likely;
  time.whole.binding = launches * kLaunchMs > likely / 2  ? "launch"
                       : attention.ms.likely > likely / 2 ? attention.binding
                       : tensor > likely / 2              ? "tensor"
                                                          : "hbm";
  return time;
}

}  // namespace sparkbench
