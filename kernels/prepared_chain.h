// A chain of kernels that keeps the scores of a pass in device memory, made ready for one problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/tensors.h"

struct CUstream_st;

namespace sparkbench {

class PreparedChain {
 public:
  virtual ~PreparedChain() = default;

  /// What the launches read of the mask: to be copied to device memory, aligned to 16 bytes.
  virtual std::vector<std::byte> tables() const = 0;
  /// What they keep between them, aligned to 256 bytes: what it held is of no account.
  virtual std::uint64_t kept_bytes() const = 0;

  virtual void launch_forward(const ForwardTensors& tensors, void* kept, const void* tables,
                              CUstream_st* stream) const = 0;
};

}  // namespace sparkbench
