// Tensors in host memory as the references read them: contiguous, or a strided view of memory that
// holds more, such as the keys in a packed QKV tensor.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/tensors.h"

namespace sparkbench {

struct TensorShape {
  int batch;
  int seqlen;
  int heads;
  int head_dim;

  bool operator==(const TensorShape&) const = default;

  std::size_t rows() const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(heads) *
           static_cast<std::size_t>(seqlen);
  }
};

inline TensorShape query_shape(const Problem& problem) {
  return {problem.batch, problem.seqlen_q, problem.heads, problem.head_dim};
}
inline TensorShape key_shape(const Problem& problem) {
  return {problem.batch, problem.seqlen_k, problem.key_heads(), problem.head_dim};
}

/// Those of a TensorView, in elements; the last dimension is contiguous.
struct RowStrides {
  std::int64_t batch, seqlen, head;

  bool operator==(const RowStrides&) const = default;
};

RowStrides contiguous_strides(const TensorShape& shape);

/// [batch, seqlen, heads, head_dim] in this memory, which begins with its first element.
class HostTensor : public std::span<const Half> {
 public:
  HostTensor() = default;
  // NOLINTBEGIN(google-explicit-constructor): a tensor is wanted, and these are one.
  /// Contiguous: a span, a vector or an array.
  template <class Memory>
  requires std::convertible_to<const Memory&, std::span<const Half>> HostTensor(
      const Memory& contiguous)
      : std::span<const Half>(contiguous) {}
  // NOLINTEND(google-explicit-constructor)
  HostTensor(std::span<const Half> memory, const RowStrides& strides)
      : std::span<const Half>(memory), strides_(strides) {}

  TensorView<const Half> view(const TensorShape& shape) const;

  /// Throws std::invalid_argument, which names the tensor, unless the memory holds this shape:
  /// exactly where it is contiguous, at least where it is strided.
  void check(const char* name, const TensorShape& shape) const;

 private:
  std::optional<RowStrides> strides_;
};

}  // namespace sparkbench
