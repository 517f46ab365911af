// The baselines `cublas-fp16` and `cublas-fp32` for varlen batches (kernels/problem/packed.h). They
// compute one sequence after the other as cublas_unfused.h does, like a loop in a framework.
// Nothing is padded; each sequence has its own launches. The sequences share one cuBLAS workspace.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "reference/cublas/cublas_unfused.h"

namespace sparkbench {

/// Owns the workspaces of one problem with lengths. Throws what CublasUnfused throws. Rows without
/// keys get o = 0, lse = -inf and zero gradients; keys without rows get zero gradients.
class PackedCublasUnfused {
 public:
  PackedCublasUnfused(const Problem& problem, UnfusedPrecision precision, Pass pass,
                      const std::shared_ptr<cublasContext>& handle);

  std::size_t workspace_bytes() const;

  /// Like CublasUnfused, for tensors of Problem::packed().
  void forward(const ForwardTensors& tensors, cudaStream_t stream);
  void backward(const BackwardTensors& tensors, cudaStream_t stream);

 private:
  Problem problem_;
  std::shared_ptr<std::byte> cublas_workspace_;
  std::vector<std::unique_ptr<CublasUnfused>> of_each_;  // null for a sequence without rows or keys
};

}  // namespace sparkbench
