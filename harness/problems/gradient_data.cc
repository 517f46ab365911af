#include "harness/problems/gradient_data.h"

#include "reference/unfused/unfused_backward.h"

namespace sparkbench {

GradientData::GradientData(const ProblemData& data, const InputSpec& input, GradientPlan plan)
    : data_(data),
      plan_(std::move(plan)),
      d_o_(input.own != nullptr
               ? input.own->d_o
               : make_gradient_input(data.problem(), input.distribution, input.seed)) {}

BackwardInputs GradientData::inputs() {
  if (!forward_) forward_ = rounded_forward(data_.problem(), data_.inputs(), plan_.forward_rows);
  const ForwardInputs inputs = data_.inputs();
  return {inputs.q, inputs.k, inputs.v, d_o_, forward_->o, forward_->lse};
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
