// Attention in fp64 on a GPU, of any mask and of packed sequences: a stage of the layer there.
#pragma once

#include <cstdint>
#include <memory>

#include "reference/encoder/exact_matrix.h"

namespace sparkbench {

class ExactGpuAttention {
 public:
  /// `problem` and `products` outlive it. Uploads a pattern's bits. Throws OutOfDeviceMemory.
  ExactGpuAttention(const Problem& problem, const ExactProducts& products);

  /// From Q, K and V side by side, [tokens, 3 hidden]: O, [tokens, hidden].
  void forward(const DoubleMatrix& qkv, const DoubleMatrix& o) const;
  /// Recomputes P.
  void backward(const DoubleMatrix& qkv, const DoubleMatrix& d_o, const DoubleMatrix& d_qkv) const;

 private:
  struct Rows;
  template <class Body>
  void for_rows_of_heads(Body body) const;
  /// Of a head's Q (0), K (1), V (2) or their gradients: the rows, or all of the sequence's keys.
  DoubleView rows_of(const DoubleMatrix& packed, int part, const Rows& rows) const;
  DoubleView keys_of(const DoubleMatrix& packed, int part, const Rows& rows) const;
  /// Of a matrix of scores that is at least as large.
  static DoubleView scores_of(const DoubleMatrix& scores, const Rows& rows);
  ExactScores meaning_of(const Rows& rows) const;
  void probabilities(const DoubleMatrix& qkv, const Rows& rows, const DoubleMatrix& p,
                     const DoubleMatrix& dropped) const;
  /// As large as any rows' are.
  DoubleMatrix make_scores() const;

  const Problem& problem_;
  const ExactProducts& products_;
  int hidden_;
  std::unique_ptr<DeviceBuffer> bits_;  // of a pattern
};

}  // namespace sparkbench
