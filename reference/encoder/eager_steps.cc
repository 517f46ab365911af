#include "reference/encoder/eager_steps.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kernels/base/half.h"
#include "kernels/base/saturating.h"

namespace sparkbench {
namespace {

constexpr std::string_view kProjections = "qkv";  // the end of a name that stands for all three
constexpr int kReadAddWrite = 3;                  // passes
constexpr std::string_view kInputGradientSum = "gradients of x added";

bool is_of_projections(const LayerTensor& tensor) { return tensor.name.ends_with(kProjections); }

/// "dWqkv" becomes "dWq", "dWk" or "dWv".
LayerTensor of_projection(LayerTensor tensor, std::size_t index) {
  if (!is_of_projections(tensor)) return tensor;
  tensor.name.resize(tensor.name.size() - kProjections.size());
  tensor.name += kProjections[index];
  tensor.bytes /= kProjections.size();
  return tensor;
}

/// A launch over Q, K and V for one of them.
LayerStep of_projection(LayerStep step, std::size_t index) {
  step.flops /= kProjections.size();
  for (auto* tensors : {&step.reads, &step.writes}) {
    for (LayerTensor& each : *tensors) each = of_projection(each, index);
  }
  return step;
}

/// The attention has all three.
std::vector<LayerTensor> as_projections(const std::vector<LayerTensor>& tensors) {
  std::vector<LayerTensor> split;
  for (const LayerTensor& tensor : tensors) {
    const std::size_t parts = is_of_projections(tensor) ? kProjections.size() : 1;
    for (std::size_t i = 0; i < parts; ++i) split.push_back(of_projection(tensor, i));
  }
  return split;
}

LayerStep with_byte_mask(LayerStep step) {
  const LayerTensor mask{"mask of " + std::string(name_of(step.stage)),
                         step.writes.front().bytes / sizeof(Half), false};
  (step.is_backward ? step.reads : step.writes).push_back(mask);
  return step;
}

/// `tensor` is added to what is there.
LayerStep added(Stage stage, std::string_view name, const LayerTensor& tensor) {
  return {.stage = stage,
          .name = name,
          .is_backward = true,
          .reads = {{tensor.name, (kReadAddWrite - 1) * tensor.bytes, false}},
          .writes = {tensor}};
}

bool is_gradient_of_input(const LayerStep& step) {
  return step.is_backward && step.kind == StepKind::kProduct && step.stage == Stage::kQkv &&
         !step.writes.front().name.starts_with("dW");
}

void add_projections(const LayerStep& step, std::vector<LayerStep>& steps) {
  for (std::size_t i = 0; i < kProjections.size(); ++i) {
    steps.push_back(of_projection(step, i));
    if (i > 0 && is_gradient_of_input(step)) {
      steps.push_back(added(step.stage, kInputGradientSum, step.writes.front()));
    }
  }
}

void add_weight_gradients(std::vector<LayerStep>& steps) {
  std::vector<LayerStep> sums;
  for (const LayerStep& step : steps) {
    for (const LayerTensor& written : step.writes) {
      const bool is_of_weight = written.name.starts_with("dW") ||
                                written.name.starts_with("dnorm") ||
                                written.name.starts_with("dbias");
      if (is_of_weight) sums.push_back(added(step.stage, "gradient added", written));
    }
  }
  steps.insert(steps.end(), sums.begin(), sums.end());
}

}  // namespace

std::vector<LayerStep> eager_steps(const std::vector<LayerStep>& unfused) {
  std::vector<LayerStep> steps;
  for (LayerStep step : unfused) {
    if (step.name == "bias") continue;
    if (step.kind == StepKind::kAttention) {
      step.reads = as_projections(step.reads);
      step.writes = as_projections(step.writes);
      steps.push_back(std::move(step));
    } else if (std::ranges::any_of(step.reads, is_of_projections) ||
               std::ranges::any_of(step.writes, is_of_projections)) {
      add_projections(step, steps);
    } else {
      steps.push_back(step.name == "dropout" ? with_byte_mask(std::move(step)) : std::move(step));
    }
  }
  add_weight_gradients(steps);
  return steps;
}

std::vector<LayerStep> without_input_gradient(std::vector<LayerStep> eager) {
  std::erase_if(eager, [](const LayerStep& step) {
    const bool is_sum = step.name == kInputGradientSum || step.name == "residual";
    return is_gradient_of_input(step) || (step.is_backward && step.stage == Stage::kQkv && is_sum);
  });
  return eager;
}

AttentionMemory eager_attention_memory(const Problem& problem, Pass pass) {
  const std::uint64_t hidden = saturating_product({problem.q_elements(), sizeof(Half)});
  const std::uint64_t scores = saturating_product(
      {static_cast<std::uint64_t>(problem.batch), static_cast<std::uint64_t>(problem.heads),
       static_cast<std::uint64_t>(problem.seqlen_q), static_cast<std::uint64_t>(problem.seqlen_k),
       sizeof(Half)});
  const bool drops = problem.dropout().threshold != 0;
  const std::uint64_t projections = saturating_product({kProjections.size(), hidden});
  const std::uint64_t probabilities =
      drops ? saturating_sum({scores, scores, scores / sizeof(Half)}) : scores;
  const std::uint64_t scaled_and_context = saturating_sum({scores, hidden});
  if (pass == Pass::kForward) {
    return {saturating_sum({projections, probabilities, scaled_and_context}), 0, 0};
  }
  // The gradients of dropout(P) and P, or of P and S, and those of Q, K, V and the context.
  const std::uint64_t backward = saturating_sum({scores, scores, projections, hidden});
  return {scaled_and_context, backward, saturating_sum({projections, probabilities})};
}

}  // namespace sparkbench
