// Tensors of attention as regions of the emulator's memory. A launch's regions are
//   regions_of(std::array{input_region("q", tensors.q, q_shape), ..., output_region("o", ...)})
// with the contiguous ones, such as lse, appended.
#pragma once

#include <string>
#include <utility>

#include "kernels/machine/emulated/memory/tensor_region.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// The extents of a TensorView, [batch, seqlen, heads, head_dim].
struct TensorShape {
  int batch, seqlen, heads, head_dim;
};

inline TensorShape query_shape(const Problem& problem) {
  return {problem.batch, problem.seqlen_q, problem.heads, problem.head_dim};
}
inline TensorShape key_shape(const Problem& problem) {
  return {problem.batch, problem.seqlen_k, problem.key_heads(), problem.head_dim};
}

/// What a launch only reads.
template <class T>
TensorRegion input_region(std::string name, const TensorView<const T>& view,
                          const TensorShape& shape) {
  constexpr std::int64_t kBytes = sizeof(T);
  return {std::move(name),
          const_cast<T*>(view.data),
          static_cast<std::size_t>(shape.head_dim) * sizeof(T),
          {shape.batch, shape.seqlen, shape.heads},
          {view.batch_stride * kBytes, view.seqlen_stride * kBytes, view.head_stride * kBytes},
          true};
}
/// What it writes, before it reads any of it.
template <class T>
TensorRegion output_region(std::string name, const TensorView<T>& view, const TensorShape& shape) {
  TensorRegion region = input_region<T>(std::move(name), view, shape);
  region.written_before = false;
  region.writable = true;
  return region;
}

}  // namespace sparkbench
