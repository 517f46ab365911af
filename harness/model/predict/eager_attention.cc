#include "harness/model/predict/eager_layer.h"

#include <string_view>

#include "kernels/base/half.h"

namespace sparkbench {
namespace {

constexpr int kProjections = 3;   // Q, K and V
constexpr int kReadAddWrite = 3;  // passes
constexpr std::string_view kInputGradient = "dx = dQKV Wqkv^T";

LayerTensor part_of(LayerTensor tensor, bool is_split) {
  if (is_split) tensor.bytes /= kProjections;
  return tensor;
}

/// The product over Wqkv, for one of its three matrices.
LayerStep one_projection(const LayerStep& step) {
  LayerStep one = step;
  one.flops /= kProjections;
  const auto split = [](std::vector<LayerTensor>& tensors) {
    for (LayerTensor& each : tensors) {
      const bool is_of_all =
          each.name == "qkv" || each.name == "dqkv" || each.name == "Wqkv" || each.name == "dWqkv";
      each = part_of(each, is_of_all);
    }
  };
  split(one.reads);
  split(one.writes);
  return one;
}

LayerStep with_byte_mask(LayerStep step) {
  const LayerTensor mask{"mask", step.writes.front().bytes / sizeof(Half), false};
  (step.is_backward ? step.reads : step.writes).push_back(mask);
  return step;
}

void add_weight_gradients(std::vector<LayerStep>& steps) {
  std::vector<LayerStep> added;
  for (const LayerStep& step : steps) {
    for (const LayerTensor& written : step.writes) {
      const bool is_of_weight = written.name.starts_with("dW") ||
                                written.name.starts_with("dnorm") ||
                                written.name.starts_with("dbias");
      if (!step.is_backward || !is_of_weight) continue;
      added.push_back({.stage = step.stage,
                       .name = "gradient added",
                       .is_backward = true,
                       .reads = {{written.name, (kReadAddWrite - 1) * written.bytes, false}},
                       .writes = {written}});
    }
  }
  steps.insert(steps.end(), added.begin(), added.end());
}

}  // namespace

std::vector<LayerStep> eager_rest(const LayerShape& shape, const Problem& problem, Pass pass,
                                  InputGradient input_gradient) {
  LayerShape unfused = shape;
  unfused.rest = Rest::kUnfused;
  std::vector<LayerStep> steps;
  for (const LayerStep& step : layer_steps(unfused, problem, pass)) {
    if (step.kind == StepKind::kAttention || step.name == "bias") continue;
    const bool is_into_input = step.is_backward && step.stage == Stage::kQkv &&
                               (step.name == kInputGradient || step.name == "residual");
    if (is_into_input && input_gradient == InputGradient::kNone) continue;
    if (step.kind == StepKind::kProduct && step.stage == Stage::kQkv) {
      steps.insert(steps.end(), kProjections, one_projection(step));
    } else if (step.name == "dropout") {
      steps.push_back(with_byte_mask(step));
    } else {
      steps.push_back(step);
    }
  }
  add_weight_gradients(steps);
  return steps;
}

std::vector<UnfusedStep> eager_attention(const Problem& problem, Pass pass) {
  Problem without_dropout = problem;
  without_dropout.dropout_p = 0;
  std::vector<UnfusedStep> steps = unfused_steps(without_dropout, pass, ScoreRows::kContiguous);
  const double hidden = static_cast<double>(problem.q_elements()) * sizeof(Half);
  const double scores = static_cast<double>(problem.batch) * problem.heads * problem.seqlen_q *
                        problem.seqlen_k * sizeof(Half);
  const auto add = [&](std::string_view name, double bytes) {
    steps.push_back({name, LaunchKind::kCopy, 0, bytes});
  };
  const int passes = pass == Pass::kForwardBackward ? 2 : 1;
  for (int i = 0; i < passes; ++i) {
    add("scale", 2 * scores);
    if (problem.dropout().threshold != 0) add("dropout", 2.5 * scores);
    for (int tensor = 0; tensor < kProjections; ++tensor) add("copy of Q, K or V", 2 * hidden);
    add("copy of the context", 2 * hidden);
  }
  return steps;
}

}  // namespace sparkbench
