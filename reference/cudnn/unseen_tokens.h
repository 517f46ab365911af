// Rows that see no key and keys that no row sees, for varlen. cuDNN is not given them
// (ragged_batch.h) and does not write them.
#pragma once

#include <vector>

#include "kernels/machine/cuda_resources.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// Tokens of a varlen problem, in the memory of the current device.
class UnseenTokens {
 public:
  explicit UnseenTokens(const std::vector<Range>& ranges);

  std::size_t bytes() const { return tokens_.bytes(); }

  /// Both enqueue. `tensor` is [1, total, heads, head_dim], `lse` [heads, total].
  void clear(const TensorView<Bits16>& tensor, int heads, int head_dim, cudaStream_t stream) const;
  void fill_lse(float* lse, int heads, int total, cudaStream_t stream) const;

 private:
  unsigned count_;
  DeviceBuffer tokens_;
};

}  // namespace sparkbench
