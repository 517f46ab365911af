// Outputs that a candidate allocated itself: strided views of [batch, seqlen, heads, head_dim].
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/problem/tensors.h"
#include "reference/tensors/host_tensor.h"

namespace sparkbench {

/// Outputs where a candidate's last passes left them. Null data: not computed.
struct OwnOutputs {
  TensorView<Half> o, dq, dk, dv;
  float* lse = nullptr;  // contiguous
};

/// Shapes here are of Problem::packed() for varlen sequences.
inline std::size_t elements_of(const TensorShape& shape) {
  return shape.rows() * static_cast<std::size_t>(shape.head_dim);
}

/// Bytes from an output's first element to its last.
inline std::size_t span_bytes(const TensorView<Half>& view, const TensorShape& shape) {
  if (elements_of(shape) == 0) return 0;
  return extent_bytes(view, shape.batch, shape.seqlen, shape.heads, shape.head_dim);
}

/// Whether its elements fill those bytes, in any order of batch, seqlen and heads.
inline bool is_dense(const TensorView<Half>& view, const TensorShape& shape) {
  return span_bytes(view, shape) == elements_of(shape) * sizeof(Half);
}

/// Calls row(b, s, h) for each of its rows.
template <class Row>
void for_each_row(const TensorShape& shape, Row row) {
  for (int b = 0; b < shape.batch; ++b) {
    for (int s = 0; s < shape.seqlen; ++s) {
      for (int h = 0; h < shape.heads; ++h) row(b, s, h);
    }
  }
}

/// Its elements in the order of a contiguous tensor; `view` is in the host's memory.
inline std::vector<Half> contiguous_copy(const TensorView<Half>& view, const TensorShape& shape) {
  std::vector<Half> copy(elements_of(shape));
  auto next = copy.begin();
  for_each_row(shape, [&](int b, int s, int h) {
    next = std::copy_n(view.row(b, s, h), shape.head_dim, next);
  });
  return copy;
}

}  // namespace sparkbench
