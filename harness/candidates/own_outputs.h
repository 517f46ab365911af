// Outputs that a candidate allocated itself: strided views of [batch, seqlen, heads, head_dim].
#pragma once

#include <cstddef>

#include "kernels/problem/tensors.h"
#include "reference/tensors/tensor_layout.h"

namespace sparkbench {

/// Outputs where a candidate's last passes left them. Null data: not computed.
struct OwnOutputs {
  TensorView<Half> o, dq, dk, dv;
  float* lse = nullptr;  // contiguous
};

/// Bytes from an output's first element to its last. Shapes here are of Problem::packed() for
/// varlen sequences.
inline std::size_t span_bytes(const TensorView<Half>& view, const TensorShape& shape) {
  if (elements_of(shape) == 0) return 0;
  return extent_bytes(view, shape.batch, shape.seqlen, shape.heads, shape.head_dim);
}

/// Whether its elements fill those bytes, in any order of batch, seqlen and heads.
inline bool is_dense(const TensorView<Half>& view, const TensorShape& shape) {
  return span_bytes(view, shape) == elements_of(shape) * sizeof(Half);
}

}  // namespace sparkbench
