#include "harness/problems/problem_data.h"

#include <algorithm>
#include <set>
#include <utility>

#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

void scatter_head(std::vector<Half>& tensor, const std::vector<Half>& slice,
                  const TensorShape& shape, int batch, int head) {
  for (int s = 0; s < shape.seqlen; ++s) {
    const std::size_t at = row_offset(batch, s, head, shape.seqlen, shape.heads, shape.head_dim);
    std::copy_n(slice.begin() + static_cast<std::ptrdiff_t>(s) * shape.head_dim, shape.head_dim,
                tensor.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace

ProblemData::ProblemData(const Problem& problem, const InputSpec& input, CheckPlan plan)
    : problem_(problem), plan_(std::move(plan)) {
  if (input.own != nullptr) {
    inputs_ = {input.own, &input.own->inputs};
  } else {
    inputs_ = std::make_shared<const OwnedInputs>(
        plan_.tiles.empty() ? make_inputs(problem, input.distribution, input.seed, input.scale)
                            : generate_heads(input));
  }
}

OwnedInputs ProblemData::generate_heads(const InputSpec& input) const {
  std::set<std::pair<int, int>> heads;  // (batch, head)
  for (const auto& tile : plan_.tiles) heads.insert({tile[2], tile[1]});
  const auto fill = [&](InputTensor tensor, int seqlen) {
    const InputStream stream{input.distribution, input.seed, tensor, input.scale};
    const TensorShape shape{problem_.batch, seqlen, problem_.heads, problem_.head_dim};
    std::vector<Half> values(tensor == InputTensor::kQ ? problem_.q_elements()
                                                       : problem_.k_elements());
    for (const auto& [batch, head] : heads) {
      scatter_head(values, make_input_head(stream, shape, batch, head), shape, batch, head);
    }
    return values;
  };
  return {fill(InputTensor::kQ, problem_.seqlen_q), fill(InputTensor::kK, problem_.seqlen_k),
          fill(InputTensor::kV, problem_.seqlen_k)};
}

const ExactRows& ProblemData::exact() {
  if (!exact_) exact_ = exact_forward(problem_, inputs(), plan_.rows);
  return *exact_;
}

const DropoutMaskSummary& ProblemData::dropout_mask() {
  if (!dropout_mask_) dropout_mask_ = summarize_dropout_mask(problem_, plan_.rows);
  return *dropout_mask_;
}

const ErrorMetrics& ProblemData::unfused_error(const ArithmeticProfile& profile,
                                               Accumulator accumulator) {
  const auto key = std::pair{profile.name, accumulator};
  if (const auto known = unfused_errors_.find(key); known != unfused_errors_.end()) {
    return known->second;
  }
  const ForwardRows unfused =
      unfused_fp16_forward(problem_, inputs(), plan_.rows, {profile, accumulator});
  return unfused_errors_.emplace(key, error_metrics(unfused, exact())).first->second;
}

}  // namespace sparkbench
