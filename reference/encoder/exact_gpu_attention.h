// Attention in fp64 on a GPU, for any mask and for varlen: a stage of the fp64 layer on a GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "reference/encoder/exact_matrix.h"

namespace sparkbench {

class ExactGpuAttention {
 public:
  /// `problem` and `products` must outlive the object. Uploads a pattern's bits. Throws
  /// OutOfDeviceMemory.
  ExactGpuAttention(const Problem& problem, const ExactProducts& products);

  /// Reads Q, K and V as slices of [tokens, 3 hidden]; writes O, [tokens, hidden].
  void forward(const DoubleMatrix& qkv, const DoubleMatrix& o) const;
  /// Recomputes P.
  void backward(const DoubleMatrix& qkv, const DoubleMatrix& d_o, const DoubleMatrix& d_qkv) const;

 private:
  struct Rows;
  template <class Body>
  void for_rows_of_heads(Body body) const;
  /// Views of a head's Q (0), K (1), V (2) or of their gradients: the given rows, or all keys of
  /// the sequence.
  DoubleView rows_of(const DoubleMatrix& packed, int part, const Rows& rows) const;
  DoubleView keys_of(const DoubleMatrix& packed, int part, const Rows& rows) const;
  /// A view of a score matrix that is at least as large.
  static DoubleView scores_of(const DoubleMatrix& scores, const Rows& rows);
  ExactScores meaning_of(const Rows& rows) const;
  void probabilities(const DoubleMatrix& qkv, const Rows& rows, const DoubleMatrix& p,
                     const DoubleMatrix& dropped) const;
  /// Large enough for any rows.
  DoubleMatrix make_scores() const;

  const Problem& problem_;
  const ExactProducts& products_;
  int hidden_;
  std::unique_ptr<DeviceBuffer> bits_;  // of a pattern
};

}  // namespace sparkbench
