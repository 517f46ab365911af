// How a problem's tensors lie in memory: what --layout chooses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/problem/tensors.h"
#include "reference/tensors/host_tensor.h"

namespace sparkbench {

/// Heads are heads or, of K and V, heads_k. LSE is [batch, heads, seqlen_q] in every layout.
enum class TensorLayout {
  kBshd,      // each tensor contiguous, [batch, seqlen, heads, head_dim]
  kBhsd,      // each tensor contiguous, [batch, heads, seqlen, head_dim]
  kQkvPacked  // Q, K and V are slices of one [batch, seqlen, heads + 2 heads_k, head_dim], and so
              // are dQ, dK and dV; with fewer or more rows than keys, only K and V, dK and dV. O
              // and dO as in kBshd.
};

/// "bshd", "bhsd", "qkv-packed"
std::string_view name_of(TensorLayout layout);

/// Throws std::invalid_argument for an unknown name.
void parse_name(std::string_view name, TensorLayout& layout);

/// Type and layout of a problem's tensors.
struct TensorFormat {
  // NOLINTNEXTLINE(google-explicit-constructor): most code knows one layout only
  TensorFormat(ElementType of_element = ElementType::kFp16,
               TensorLayout in_layout = TensorLayout::kBshd)
      : element(of_element), layout(in_layout) {}
  ElementType element;  // of all tensors but LSE
  TensorLayout layout;
};

/// Shapes below are of Problem::packed() for varlen sequences.
inline std::size_t elements_of(const TensorShape& shape) {
  return shape.rows() * static_cast<std::size_t>(shape.head_dim);
}

/// Where a tensor lies, in one of several memories.
struct TensorPlace {
  std::size_t memory = 0;  // its index
  std::int64_t first = 0;  // the index of the first element there
  RowStrides strides;
  TensorShape shape;

  template <class T>
  TensorView<T> in(T* of_memory) const {
    return {of_memory + first, strides.batch, strides.seqlen, strides.head};
  }
};

/// The places of Q, K and V, which are those of dQ, dK and dV, too, and of O, which are those of
/// dO.
struct TensorPlaces {
  /// `problem` is Problem::packed() for varlen sequences.
  TensorPlaces(const Problem& problem, TensorLayout layout);

  TensorPlace q, k, v;
  std::vector<std::size_t> elements;  // of each memory of Q, K and V: one to three
  TensorPlace o;                      // in a memory of its own
};

/// Calls row(b, s, h) for each row of a tensor.
template <class Row>
void for_each_row(const TensorShape& shape, Row row) {
  for (int b = 0; b < shape.batch; ++b) {
    for (int s = 0; s < shape.seqlen; ++s) {
      for (int h = 0; h < shape.heads; ++h) row(b, s, h);
    }
  }
}

/// A tensor's elements in the order of a contiguous [batch, seqlen, heads, head_dim]; `view` is in
/// the host's memory.
template <class T>
std::vector<Half> contiguous_copy(const TensorView<T>& view, const TensorShape& shape) {
  std::vector<Half> copy(elements_of(shape));
  auto next = copy.begin();
  for_each_row(shape, [&](int b, int s, int h) {
    next = std::copy_n(view.row(b, s, h), shape.head_dim, next);
  });
  return copy;
}

/// The reverse: stores contiguous elements where `view` says.
void store_rows(std::span<const Half> contiguous, const TensorView<Half>& view,
                const TensorShape& shape);

/// The memories of Q, K and V, filled from contiguous tensors.
std::vector<std::vector<Half>> memories_of(const TensorPlaces& places, std::span<const Half> q,
                                           std::span<const Half> k, std::span<const Half> v);

}  // namespace sparkbench
