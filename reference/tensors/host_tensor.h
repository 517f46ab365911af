// Tensors in host memory, contiguous or as a strided view of a larger memory, such as the keys in a
// packed QKV tensor.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/problem/tensors.h"

namespace sparkbench {

struct TensorShape {
  int batch;
  int seqlen;
  int heads;
  int head_dim;
  /// For varlen (kernels/problem/packed.h): the first token of each sequence, [batch + 1]; seqlen
  /// is then the longest. Points into the problem; null if all sequences have one length.
  const std::vector<int>* cu_seqlens = nullptr;

  bool operator==(const TensorShape&) const = default;

  int seqlen_of(int sequence) const {
    const auto at = static_cast<std::size_t>(sequence);
    return cu_seqlens == nullptr ? seqlen : (*cu_seqlens)[at + 1] - (*cu_seqlens)[at];
  }
  /// Rows of a head over all sequences, and over the sequences before this one.
  std::size_t tokens() const { return tokens_before(batch); }
  std::size_t tokens_before(int sequence) const {
    const auto at = static_cast<std::size_t>(sequence);
    return cu_seqlens == nullptr ? at * static_cast<std::size_t>(seqlen)
                                 : static_cast<std::size_t>((*cu_seqlens)[at]);
  }
  std::size_t rows() const { return tokens() * static_cast<std::size_t>(heads); }
  /// Index of the first element of row (b, s, h) in a contiguous tensor.
  std::size_t row_offset(int b, int s, int h) const {
    return ((tokens_before(b) + static_cast<std::size_t>(s)) * static_cast<std::size_t>(heads) +
            static_cast<std::size_t>(h)) *
           static_cast<std::size_t>(head_dim);
  }
};

inline TensorShape query_shape(const Problem& problem) {
  return {problem.batch, problem.seqlen_q, problem.heads, problem.head_dim,
          problem.lengths ? &problem.lengths->cu_seqlens_q() : nullptr};
}
inline TensorShape key_shape(const Problem& problem) {
  return {problem.batch, problem.seqlen_k, problem.key_heads(), problem.head_dim,
          problem.lengths ? &problem.lengths->cu_seqlens_k() : nullptr};
}

/// The strides of a TensorView, in elements; the last dimension is contiguous.
struct RowStrides {
  std::int64_t batch, seqlen, head;

  bool operator==(const RowStrides&) const = default;
};

RowStrides contiguous_strides(const TensorShape& shape);

/// [batch, seqlen, heads, head_dim] in this memory, which begins with the tensor's first element.
class HostTensor : public std::span<const Half> {
 public:
  HostTensor() = default;
  // NOLINTBEGIN(google-explicit-constructor): implicit, because a vector is a valid tensor
  // argument.
  /// Contiguous: a span, a vector or an array.
  template <class Memory>
  requires std::convertible_to<const Memory&, std::span<const Half>> HostTensor(
      const Memory& contiguous)
      : std::span<const Half>(contiguous) {}
  // NOLINTEND(google-explicit-constructor)
  HostTensor(std::span<const Half> memory, const RowStrides& strides)
      : std::span<const Half>(memory), strides_(strides) {}

  /// For varlen, a batch of one with all sequences.
  TensorView<const Half> view(const TensorShape& shape) const;

  /// The head_dim elements of row (b, s, h). For varlen s counts from the sequence's first row.
  const Half* row(const TensorShape& shape, int b, int s, int h) const;

  /// Throws std::invalid_argument, naming the tensor, unless the memory holds this shape: exactly
  /// if contiguous, at least if strided.
  void check(const char* name, const TensorShape& shape) const;

 private:
  std::optional<RowStrides> strides_;
};

}  // namespace sparkbench
