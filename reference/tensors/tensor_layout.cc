#include "reference/tensors/tensor_layout.h"

#include <array>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 3> kNames = {"bshd", "bhsd", "qkv-packed"};

/// Slices of one [batch, seqlen, rows of a token, head_dim], from the first place on. Returns the
/// memory's elements.
template <std::size_t kCount>
std::size_t slice(std::size_t memory, const std::array<TensorPlace*, kCount>& places) {
  std::int64_t token = 0;
  for (TensorPlace* const place : places) {
    place->memory = memory;
    place->first = token;
    token += std::int64_t{place->shape.heads} * place->shape.head_dim;
  }
  for (TensorPlace* const place : places) {
    place->strides = {place->shape.seqlen * token, token, place->shape.head_dim};
  }
  const TensorShape& shape = places.front()->shape;
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

TensorPlaces::TensorPlaces(const Problem& problem, TensorLayout layout) {
  q.shape = o.shape = query_shape(problem);
  k.shape = v.shape = key_shape(problem);
  using Slices = std::array<TensorPlace*, 2>;
  if (layout != TensorLayout::kQkvPacked) {
    elements = {slice<1>(0, {&q}), slice<1>(1, {&k}), slice<1>(2, {&v})};
  } else if (problem.seqlen_q == problem.seqlen_k) {
    elements = {slice<3>(0, {&q, &k, &v})};
  } else {
    elements = {slice<1>(0, {&q}), slice(1, Slices{&k, &v})};
  }
  slice<1>(0, {&o});
  if (layout != TensorLayout::kBhsd) return;
  for (TensorPlace* const place : {&q, &k, &v, &o}) {
    place->strides = heads_first_strides(place->shape);
  }
}

void store_rows(std::span<const Half> contiguous, const TensorView<Half>& view,
                const TensorShape& shape) {
  auto next = contiguous.begin();
  for_each_row(shape, [&](int b, int s, int h) {
    std::copy_n(next, shape.head_dim, view.row(b, s, h));
    next += shape.head_dim;
  });
}

std::vector<std::vector<Half>> memories_of(const TensorPlaces& places, std::span<const Half> q,
                                           std::span<const Half> k, std::span<const Half> v) {
  std::vector<std::vector<Half>> memories;
  for (const std::size_t elements : places.elements) memories.emplace_back(elements);
  const auto store = [&](std::span<const Half> contiguous, const TensorPlace& place) {
    store_rows(contiguous, place.in(memories[place.memory].data()), place.shape);
  };
  store(q, places.q);
  store(k, places.k);
  store(v, places.v);
  return memories;
}

}  // namespace sparkbench
