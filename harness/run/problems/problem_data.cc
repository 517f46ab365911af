#include "harness/run/problems/problem_data.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <utility>

#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

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

/// The user's tensors, which are kept as fp16, as this type has them.
std::vector<Half> rounded(ElementType element, std::vector<Half> tensor) {
  if (element == ElementType::kFp16) return tensor;
  std::ranges::transform(tensor, tensor.begin(),
                         [element](Half value) { return to_input(element, to_float(value)); });
  return tensor;
}

std::shared_ptr<const OwnedInputs> own_inputs(const InputSpec& input) {
  if (input.element == ElementType::kFp16) return {input.own, &input.own->inputs};
  const OwnedInputs& own = input.own->inputs;
  return std::make_shared<const OwnedInputs>(OwnedInputs{
      rounded(input.element, own.q), rounded(input.element, own.k), rounded(input.element, own.v)});
}

/// The next number of the type away from 0, or towards 0. Not for 0 or the largest.
Half next_to(ElementType element, Half value, bool is_away) {
  if (element == ElementType::kFp16) {
    return {static_cast<std::uint16_t>(is_away ? value.bits + 1 : value.bits - 1)};
  }
  const std::uint16_t bits = to_bf16_bits(to_float(value));
  const std::uint32_t next = is_away ? bits + 1u : bits - 1u;
  return to_half(float_from_bits(next << 16));
}

}  // namespace

ProblemData::ProblemData(const Problem& problem, const InputSpec& input, CheckPlan plan)
    : problem_(problem), element_(input.element), layout_(input.layout), plan_(std::move(plan)) {
  if (input.own != nullptr) {
    inputs_ = own_inputs(input);
  } else {
    inputs_ = std::make_shared<const OwnedInputs>(
        plan_.tiles.empty()
            ? make_inputs(problem, input.distribution, input.seed, input.scale, element_)
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
    const InputStream stream{input.distribution, input.seed, tensor, input.scale, input.element};
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
  return error_metrics(got, exact(), plan_.weights, element_);
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
  const ForwardRows unfused = unfused_forward(problem_, inputs(), plan_.rows, tensor_cores);
  return unfused_errors_.emplace(key, error_of(unfused)).first->second;
}

GradientData::GradientData(const ProblemData& data, const InputSpec& input, GradientPlan plan)
    : data_(data),
      plan_(std::move(plan)),
      d_o_(input.own != nullptr ? rounded(input.element, input.own->d_o)
                                : make_gradient_input(data.problem(), input.distribution,
                                                      input.seed, input.element)) {}

BackwardInputs GradientData::inputs() {
  if (!forward_) {
    forward_ = rounded_forward(data_.problem(), data_.inputs(), plan_.forward_rows);
    forward_->o = rounded(data_.element(), std::move(forward_->o));
  }
  return inputs_after(*forward_);
}

const ExactGradients& GradientData::exact() {
  if (!exact_) exact_ = exact_backward(data_.problem(), inputs(), plan_.rows);
  return *exact_;
}

BackwardInputs GradientData::inputs_after(const RoundedForward& forward) const {
  const ForwardInputs inputs = data_.inputs();
  return {inputs.q, inputs.k, inputs.v, d_o_, forward.o, forward.lse};
}

RoundedForward GradientData::forward_with(std::span<const QueryRow> rows,
                                          const ForwardRows& computed) {
  inputs();
  RoundedForward forward = *forward_;
  const Problem& problem = data_.problem();
  const TensorShape queries = query_shape(problem);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t at = queries.row_offset(rows[i].batch, rows[i].row, rows[i].head);
    const auto head_dim = static_cast<std::size_t>(problem.head_dim);
    std::ranges::copy(std::span(computed.o).subspan(i * head_dim, head_dim), &forward.o[at]);
    forward.lse[rows[i].lse_index(problem)] = computed.lse[i];
  }
  return forward;
}

GradientErrors GradientData::errors_of(const HalfGradients& got) {
  return gradient_errors(got, exact(), dq_rows(), dkv_rows());
}

const GradientErrors& GradientData::errors_of_a_unit() {
  if (errors_of_a_unit_) return *errors_of_a_unit_;
  inputs();
  RoundedForward off = *forward_;
  std::mt19937 draw;
  for (Half& o : off.o) {
    const unsigned magnitude = o.bits & 0x7fffu;
    // The largest finite numbers of fp16 and, as fp16, of bf16.
    const unsigned largest = data_.element() == ElementType::kFp16 ? 0x7bffu : 0x7bf8u;
    if (magnitude == 0 || magnitude >= largest) continue;
    o = next_to(data_.element(), o, draw() % 2 == 0);
  }
  const ExactGradients moved = exact_backward(data_.problem(), inputs_after(off), plan_.rows);
  const auto errors = [](const std::vector<double>& got, const std::vector<double>& want,
                         const CheckedRows& rows) {
    return error_metrics(std::vector<float>(got.begin(), got.end()), want, rows);
  };
  errors_of_a_unit_ = {errors(moved.dq, exact().dq, dq_rows()),
                       errors(moved.dk, exact().dk, dkv_rows()),
                       errors(moved.dv, exact().dv, dkv_rows())};
  return *errors_of_a_unit_;
}

const GradientErrors& GradientData::unfused_errors(const TensorCores& tensor_cores, After after) {
  const auto key = std::pair{key_of(tensor_cores), after};
  if (const auto known = unfused_errors_.find(key); known != unfused_errors_.end()) {
    return known->second;
  }
  const Problem& problem = data_.problem();
  RoundedForward forward;
  BackwardInputs from = inputs();
  if (after == After::kOwnForward) {
    const std::vector<QueryRow>& rows = data_.plan().rows;
    forward = forward_with(rows, unfused_forward(problem, data_.inputs(), rows, tensor_cores));
    from = inputs_after(forward);
  }
  const HalfGradients unfused = unfused_backward(problem, from, plan_.rows, tensor_cores);
  return unfused_errors_.emplace(key, errors_of(unfused)).first->second;
}

}  // namespace sparkbench
