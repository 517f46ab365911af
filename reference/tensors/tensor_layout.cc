#include "reference/tensors/tensor_layout.h"

#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kTensorLayouts.size()> kNames = {"bshd", "bhsd",
                                                                        "qkv-packed", "k-bhsd"};

/// Makes them slices of one [batch, seqlen, heads of all, head_dim]. Returns the buffer's elements.
template <std::size_t kCount>
std::size_t pack(std::size_t buffer, const std::array<TensorSlice*, kCount>& slices) {
  std::int64_t token = 0;
  for (TensorSlice* const slice : slices) {
    slice->buffer = buffer;
    slice->offset = token;
    token += std::int64_t{slice->shape.heads} * slice->shape.head_dim;
  }
  for (TensorSlice* const slice : slices) {
    slice->strides = {slice->shape.seqlen * token, token, slice->shape.head_dim};
  }
  const TensorShape& shape = slices.front()->shape;
  return shape.tokens() * static_cast<std::size_t>(token);
}

RowStrides heads_first_strides(const TensorShape& shape) {
  const std::int64_t head = std::int64_t{shape.seqlen} * shape.head_dim;
  return {shape.heads * head, shape.head_dim, head};
}

}  // namespace

std::string_view name_of(TensorLayout layout) {
  return kNames.at(static_cast<std::size_t>(layout));
}

void parse_name(std::string_view name, TensorLayout& layout) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    throw std::invalid_argument("no layout is called " + std::string(name));
  }
  layout = static_cast<TensorLayout>(found - kNames.begin());
}

TensorSlices::TensorSlices(const Problem& problem, TensorLayout layout) {
  q.shape = o.shape = query_shape(problem);
  k.shape = v.shape = key_shape(problem);
  using KeysAndValues = std::array<TensorSlice*, 2>;
  if (layout != TensorLayout::kQkvPacked) {
    elements = {pack<1>(0, {&q}), pack<1>(1, {&k}), pack<1>(2, {&v})};
  } else if (problem.seqlen_q == problem.seqlen_k) {
    elements = {pack<3>(0, {&q, &k, &v})};
  } else {
    elements = {pack<1>(0, {&q}), pack(1, KeysAndValues{&k, &v})};
  }
  pack<1>(0, {&o});
  for (TensorSlice* const slice : {&q, &k, &v, &o}) {
    if (layout == TensorLayout::kBhsd || (layout == TensorLayout::kKBhsd && slice == &k)) {
      slice->strides = heads_first_strides(slice->shape);
    }
  }
}

void store_rows(std::span<const Half> contiguous, const TensorView<Half>& view,
                const TensorShape& shape) {
  if (is_contiguous(view, shape)) {
    std::ranges::copy(contiguous, view.data);
    return;
  }
  auto next = contiguous.begin();
  for_each_row(shape, [&](int b, int s, int h) {
    std::copy_n(next, shape.head_dim, view.row(b, s, h));
    next += shape.head_dim;
  });
}

std::vector<std::vector<Half>> buffers_of(const TensorSlices& slices, std::span<const Half> q,
                                          std::span<const Half> k, std::span<const Half> v) {
  std::vector<std::vector<Half>> buffers;
  for (const std::size_t elements : slices.elements) buffers.emplace_back(elements);
  const auto store = [&](std::span<const Half> contiguous, const TensorSlice& slice) {
    store_rows(contiguous, slice.in(buffers[slice.buffer].data()), slice.shape);
  };
  store(q, slices.q);
  store(k, slices.k);
  store(v, slices.v);
  return buffers;
}

}  // namespace sparkbench
