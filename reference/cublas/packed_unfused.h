// The references `cublas-fp16` and `cublas-fp32` over packed sequences (kernels/packed.h): one
// sequence after the other, each as cublas_unfused.h computes it, as a loop in a framework would.
// Nothing is padded; each sequence is launches of its own. cuBLAS shares a workspace among them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "reference/cublas/cublas_unfused.h"

namespace sparkbench {

/// Owns the workspaces of one problem with lengths. Errors are as of CublasUnfused. Rows without
/// keys get o = 0, lse = -inf and zero gradients, keys without rows zero gradients.
class PackedCublasUnfused {
 public:
  PackedCublasUnfused(const Problem& problem, UnfusedPrecision precision, Pass pass,
                      const std::shared_ptr<cublasContext>& handle);

  std::size_t workspace_bytes() const;

  /// As of CublasUnfused, of contiguous tensors of Problem::packed().
  void forward(const ForwardTensors& tensors, cudaStream_t stream);
  void backward(const BackwardTensors& tensors, cudaStream_t stream);

 private:
  Problem problem_;
  std::shared_ptr<std::byte> cublas_workspace_;
  std::vector<std::unique_ptr<CublasUnfused>> of_each_;  // null without rows or keys
};

}  // namespace sparkbench
