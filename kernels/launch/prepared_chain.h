// A chain of kernels that keeps the scores of a pass in device memory, made ready for one problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/problem/tensors.h"

struct CUstream_st;

namespace sparkbench {

class PreparedChain {
 public:
  virtual ~PreparedChain() = default;

  /// What the launches read of the mask: to be copied to device memory, aligned to 16 bytes.
  virtual std::vector<std::byte> tables() const = 0;
  /// The size of their intermediates, aligned to 256 bytes. A forward pass ignores their old
  /// values; a backward pass needs those that the forward pass left.
  virtual std::uint64_t kept_bytes() const = 0;

  virtual void launch_forward(const ForwardTensors& tensors, void* kept, const void* tables,
                              CUstream_st* stream) const = 0;
  /// Any number of times after a forward pass, of a chain that was prepared for backward passes.
  virtual void launch_backward(const BackwardTensors& tensors, void* kept, const void* tables,
                               CUstream_st* stream) const = 0;
};

}  // namespace sparkbench
