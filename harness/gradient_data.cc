#include "harness/gradient_data.h"

#include "reference/unfused_backward.h"

namespace sparkbench {

GradientData::GradientData(const ProblemData& data, const InputSpec& input, GradientPlan plan)
    : data_(data),
      plan_(std::move(plan)),
      d_o_(make_gradient_input(data.problem(), input.distribution, input.seed)) {}

BackwardInputs GradientData::inputs() {
  if (lse_.empty()) compute_forward();
  const ForwardInputs forward = data_.inputs();
  return {forward.q, forward.k, forward.v, d_o_, o_, lse_};
}

void GradientData::compute_forward() {
  const Problem& problem = data_.problem();
  o_.resize(problem.q_elements());
  lse_.resize(problem.lse_elements());
  const ExactRows exact = exact_forward(problem, data_.inputs(), plan_.forward_rows);
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  for (std::size_t r = 0; r < plan_.forward_rows.size(); ++r) {
    const QueryRow& row = plan_.forward_rows[r];
    const std::size_t at =
        row_offset(row.batch, row.row, row.head, problem.seqlen_q, problem.heads, problem.head_dim);
    for (std::size_t d = 0; d < head_dim; ++d) {
      o_[at + d] = to_half(static_cast<float>(exact.o[r * head_dim + d]));
    }
    lse_[row.lse_index(problem)] = static_cast<float>(exact.lse[r]);
  }
}

const ExactGradients& GradientData::exact() {
  if (!exact_) exact_ = exact_backward(data_.problem(), inputs(), plan_.rows);
  return *exact_;
}

const GradientErrors& GradientData::unfused_errors(const ArithmeticProfile& profile,
                                                   Accumulator accumulator) {
  const auto key = std::pair{profile.name, accumulator};
  if (const auto known = unfused_errors_.find(key); known != unfused_errors_.end()) {
    return known->second;
  }
  const HalfGradients unfused =
      unfused_fp16_backward(data_.problem(), inputs(), plan_.rows, {profile, accumulator});
  return unfused_errors_.emplace(key, gradient_errors(unfused, exact())).first->second;
}

}  // namespace sparkbench
