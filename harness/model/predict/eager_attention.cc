#include "harness/model/predict/eager_attention.h"

#include <string_view>

#include "kernels/base/half.h"

namespace sparkbench {
namespace {

/// PyTorch's products and its softmax are of all pairs, and its dropout is a launch of its own.
Problem without_mask_and_dropout(Problem problem) {
  problem.mask = MaskSpec::full();
  problem.sparse = nullptr;
  problem.dropout_p = 0;
  return problem;
}

}  // namespace

std::vector<UnfusedStep> eager_attention(const Problem& problem, Pass pass) {
  std::vector<UnfusedStep> steps =
      unfused_steps(without_mask_and_dropout(problem), pass, ScoreRows::kContiguous);
  const double hidden = static_cast<double>(problem.q_elements()) * sizeof(Half);
  const double of_head = static_cast<double>(problem.seqlen_q) * problem.seqlen_k * sizeof(Half);
  const double scores = of_head * problem.batch * problem.heads;
  const bool has_mask = problem.sparse != nullptr || problem.mask != MaskSpec::full();
  const auto add = [&](std::string_view name, double bytes) {
    steps.push_back({name, LaunchKind::kCopy, 0, bytes});
  };
  const auto add_pass = [&] {
    add("scale", 2 * scores);
    if (problem.dropout().threshold != 0) add("dropout", 2.5 * scores);
    for (const char* const name : {"copy of Q", "copy of K", "copy of V", "copy of the context"}) {
      add(name, 2 * hidden);
    }
  };
  if (pass != Pass::kBackward) {
    add_pass();
    if (has_mask) add("mask", 2 * scores + of_head);
  }
  if (pass != Pass::kForward) add_pass();
  return steps;
}

std::vector<UnfusedStep> baseline_attention(const CaseProblem& problem) {
  const bool is_eager = problem.layer && problem.layer->rest == Rest::kEager;
  return is_eager ? eager_attention(problem, problem.pass) : unfused_steps(problem, problem.pass);
}

}  // namespace sparkbench
