// Tensors as kernels and references take them: strided views of [batch, seqlen, heads, head_dim],
// so that q, k and v may be slices of one packed tensor, or have heads before rows in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/base/half.h"
#include "kernels/base/host_device.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

/// Element (b, s, h, d) is data[b * batch_stride + s * seqlen_stride + h * head_stride + d]:
/// strides in elements, the last dimension contiguous. Kernels want rows aligned to 16 bytes:
/// `data`, and every stride of an extent above 1.
template <class T>
struct TensorView {
  T* data = nullptr;
  std::int64_t batch_stride = 0, seqlen_stride = 0, head_stride = 0;

  SPARK_HD T* row(int b, int s, int h) const {
    return data + (b * batch_stride + s * seqlen_stride + h * head_stride);
  }
  /// A mutable view converts to a read-only one, and a view of an element type to one of Bits16.
  template <class U, class = std::enable_if_t<!std::is_same_v<T, U> && sizeof(T) == sizeof(U) &&
                                              std::is_convertible_v<T*, U*>>>
  SPARK_HD operator TensorView<U>() const {  // NOLINT(google-explicit-constructor)
    return {data, batch_stride, seqlen_stride, head_stride};
  }
};

/// A contiguous [batch, seqlen, heads, head_dim].
template <class T>
SPARK_HD TensorView<T> contiguous_view(T* data, int seqlen, int heads, int head_dim) {
  const std::int64_t row = std::int64_t{heads} * head_dim;
  return {data, seqlen * row, row, head_dim};
}

/// Bytes from a view's first element to the end of its last. Strides must not be negative.
template <class T>
std::size_t extent_bytes(const TensorView<T>& view, int batch, int seqlen, int heads,
                         int head_dim) {
  const std::int64_t last = (batch - 1) * view.batch_stride + (seqlen - 1) * view.seqlen_stride +
                            (heads - 1) * view.head_stride + head_dim;
  return static_cast<std::size_t>(last) * sizeof(T);
}

/// A forward pass over tensors in the memory of the device that runs it.
/// A row without a visible key gives o = 0 and lse = -inf.
struct ForwardTensors {
  TensorView<const Bits16> q;  // [batch, seqlen_q, heads, head_dim]
  TensorView<const Bits16> k;  // [batch, seqlen_k, heads_k, head_dim]
  TensorView<const Bits16> v;  // [batch, seqlen_k, heads_k, head_dim]
  TensorView<Bits16> o;        // [batch, seqlen_q, heads, head_dim]
  float* lse;                  // [batch, heads, seqlen_q], contiguous, natural logarithm
  const DropoutOffset* dropout_offset = nullptr;  // instead of the problem's, unless null
};

/// A backward pass: the gradients of sum(o * d_o) with respect to q, k and v. A row without a
/// visible key has and gives zero gradients; so does a dropped element.
struct BackwardTensors {
  TensorView<const Bits16> q;    // [batch, seqlen_q, heads, head_dim]
  TensorView<const Bits16> k;    // [batch, seqlen_k, heads_k, head_dim]
  TensorView<const Bits16> v;    // [batch, seqlen_k, heads_k, head_dim]
  TensorView<const Bits16> o;    // [batch, seqlen_q, heads, head_dim], of the forward pass
  TensorView<const Bits16> d_o;  // [batch, seqlen_q, heads, head_dim]
  const float* lse;              // [batch, heads, seqlen_q], of the forward pass
  TensorView<Bits16> dq;         // [batch, seqlen_q, heads, head_dim]
  TensorView<Bits16> dk;  // [batch, seqlen_k, heads_k, head_dim]: over the heads that read it
  TensorView<Bits16> dv;  // [batch, seqlen_k, heads_k, head_dim]
  const DropoutOffset* dropout_offset = nullptr;  // as of the forward pass
};

/// A problem's contiguous q, o and their gradients, and its k, v and theirs.
template <class T>
TensorView<T> contiguous_queries(const Problem& problem, T* data) {
  return contiguous_view(data, problem.seqlen_q, problem.heads, problem.head_dim);
}
template <class T>
TensorView<T> contiguous_keys(const Problem& problem, T* data) {
  return contiguous_view(data, problem.seqlen_k, problem.key_heads(), problem.head_dim);
}

/// The same of contiguous tensors.
inline ForwardTensors contiguous_tensors(const Problem& problem, const Bits16* q, const Bits16* k,
                                         const Bits16* v, Bits16* o, float* lse) {
  const auto queries = [&](auto* data) { return contiguous_queries(problem, data); };
  const auto keys = [&](auto* data) { return contiguous_keys(problem, data); };
  return {queries(q), keys(k), keys(v), queries(o), lse};
}
inline BackwardTensors contiguous_tensors(const Problem& problem, const Bits16* q, const Bits16* k,
                                          const Bits16* v, const Bits16* o, const Bits16* d_o,
                                          const float* lse, Bits16* dq, Bits16* dk, Bits16* dv) {
  const auto queries = [&](auto* data) { return contiguous_queries(problem, data); };
  const auto keys = [&](auto* data) { return contiguous_keys(problem, data); };
  return {queries(q), keys(k),     keys(v),  queries(o), queries(d_o),
          lse,        queries(dq), keys(dk), keys(dv)};
}

}  // namespace sparkbench
