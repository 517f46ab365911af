#include "harness/run/problems/problem_data.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

void scatter_head(std::vector<Half>& tensor, const std::vector<Half>& slice,
                  const TensorShape& shape, int batch, int head) {
  for (int s = 0; s < shape.seqlen_of(batch); ++s) {
    const std::size_t at = shape.row_offset(batch, s, head);
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
  std::set<std::array<int, 2>> heads;  // {batch, head}
  for (const auto& [batch, key_head] : plan_.key_heads) {
    for (const int reader : query_heads_of(problem_, {batch, key_head, 0})) {
      heads.insert({batch, reader});
    }
  }
  const auto fill = [&](InputTensor tensor, const TensorShape& shape, const auto& of_heads) {
    const InputStream stream{input.distribution, input.seed, tensor, input.scale};
    std::vector<Half> values(shape.rows() * static_cast<std::size_t>(shape.head_dim));
    for (const auto& [batch, head] : of_heads) {
      scatter_head(values, make_input_head(stream, shape, batch, head), shape, batch, head);
    }
    return values;
  };
  const TensorShape keys = key_shape(problem_);
  return {fill(InputTensor::kQ, query_shape(problem_), heads),
          fill(InputTensor::kK, keys, plan_.key_heads),
          fill(InputTensor::kV, keys, plan_.key_heads)};
}

const ExactRows& ProblemData::exact() {
  if (!exact_) exact_ = exact_forward(problem_, inputs(), plan_.rows);
  return *exact_;
}

ErrorMetrics ProblemData::error_of(const ForwardRows& got) {
  return error_metrics(got, exact(), plan_.weights);
}

const DropoutMaskSummary& ProblemData::dropout_mask() {
  if (!dropout_mask_) dropout_mask_ = summarize_dropout_mask(problem_, plan_.rows);
  return *dropout_mask_;
}

const ErrorMetrics& ProblemData::unfused_error(const TensorCores& tensor_cores) {
  const UnfusedKey key = key_of(tensor_cores);
  if (const auto known = unfused_errors_.find(key); known != unfused_errors_.end()) {
    return known->second;
  }
  const ForwardRows unfused = unfused_fp16_forward(problem_, inputs(), plan_.rows, tensor_cores);
  return unfused_errors_.emplace(key, error_of(unfused)).first->second;
}

}  // namespace sparkbench
