// How a problem's tensors lie in memory: what --layout chooses.
#pragma once

#include <algorithm>
#include <array>
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
  kBshd,       // each tensor contiguous, [batch, seqlen, heads, head_dim]
  kBhsd,       // each tensor contiguous, [batch, heads, seqlen, head_dim]
  kQkvPacked,  // Q, K and V are slices of one [batch, seqlen, heads + 2 heads_k, head_dim], and so
               // are dQ, dK and dV; with fewer or more rows than keys, only K and V, dK and dV. O
               // and dO as in kBshd.
  kKBhsd       // K and dK as in kBhsd, all others as in kBshd: V's strides are not those of K
};
inline constexpr std::array kTensorLayouts = {TensorLayout::kBshd, TensorLayout::kBhsd,
                                              TensorLayout::kQkvPacked, TensorLayout::kKBhsd};

/// "bshd", "bhsd", "qkv-packed", "k-bhsd"
std::string_view name_of(TensorLayout layout);

/// Throws std::invalid_argument for an unknown name.
void parse_name(std::string_view name, TensorLayout& layout);

/// Type and layout of a problem's tensors.
struct TensorFormat {
  ElementType element = ElementType::kFp16;  // of all tensors but LSE
  TensorLayout layout = TensorLayout::kBshd;
};

/// Shapes below are of Problem::packed() for varlen sequences.
inline std::size_t elements_of(const TensorShape& shape) {
  return shape.rows() * static_cast<std::size_t>(shape.head_dim);
}

/// A tensor's part of a buffer.
struct TensorSlice {
  std::size_t buffer = 0;   // its index
  std::int64_t offset = 0;  // of the first element
  RowStrides strides;
  TensorShape shape;

  /// Null in an empty buffer, which may be null.
  template <class T>
  TensorView<T> in(T* data) const {
    return {data == nullptr ? nullptr : data + offset, strides.batch, strides.seqlen, strides.head};
  }
};

/// The slices of Q, K and V in their buffers, and of O in its own. dQ, dK, dV and dO are alike.
struct TensorSlices {
  /// `problem` is Problem::packed() for varlen sequences.
  TensorSlices(const Problem& problem, TensorLayout layout);

  TensorSlice q, k, v;
  std::vector<std::size_t> elements;  // of each buffer of Q, K and V: one to three
  TensorSlice o;
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

template <class T>
bool is_contiguous(const TensorView<T>& view, const TensorShape& shape) {
  return contiguous_strides(shape) ==
         RowStrides{view.batch_stride, view.seqlen_stride, view.head_stride};
}

/// A tensor's elements in the order of a contiguous [batch, seqlen, heads, head_dim]; `view` is in
/// the host's memory.
template <class T>
std::vector<Half> contiguous_copy(const TensorView<T>& view, const TensorShape& shape) {
  if (is_contiguous(view, shape)) return {view.data, view.data + elements_of(shape)};
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

/// The buffers of Q, K and V, filled from contiguous tensors.
std::vector<std::vector<Half>> buffers_of(const TensorSlices& slices, std::span<const Half> q,
                                          std::span<const Half> k, std::span<const Half> v);

}  // namespace sparkbench
