// The references `cublas-fp16` and `cublas-fp32`: attention as two cuBLAS GEMMs around one kernel
// for scale, mask, softmax and dropout, with S and P in GPU memory. The names give the type of the
// tensors; both accumulate in fp32 (CUBLAS_COMPUTE_32F, split-k sums included).
//   cublas-fp16  S, P and O in fp16: what frameworks run when they do not fuse. The timed baseline.
//   cublas-fp32  q, k, v widened; S, P and O in fp32 without TF32: a check of high precision.
// S [batch, heads, seqlen_q, seqlen_k] is overwritten by P, its rows padded to 16 bytes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "kernels/attention.h"

struct cublasContext;

namespace sparkbench {

enum class UnfusedPrecision { kFp16, kFp32 };

/// Device bytes that CublasUnfused allocates for `problem`, cuBLAS' own workspace included.
std::size_t cublas_unfused_workspace_bytes(const Problem& problem, UnfusedPrecision precision);

/// Owns a cuBLAS handle and the workspace of one problem. Everything throws std::runtime_error on a
/// CUDA or cuBLAS error.
class CublasUnfused {
 public:
  /// Allocates the workspace on the current device.
  CublasUnfused(const Problem& problem, UnfusedPrecision precision);

  std::size_t workspace_bytes() const {
    return cublas_unfused_workspace_bytes(problem_, precision_);
  }

  /// Enqueues a forward pass on `stream`. The tensors lie on the device.
  void forward(const ForwardTensors& tensors, cudaStream_t stream);

  /// O of the last forward before its rounding to fp16, [batch, seqlen_q, heads, head_dim] on the
  /// device; null for cublas-fp16.
  const float* o_fp32() const;

 private:
  struct HandleDeleter {
    void operator()(cublasContext* handle) const;
  };
  struct DeviceDeleter {
    void operator()(std::byte* memory) const;
  };

  Problem problem_;
  UnfusedPrecision precision_;
  std::unique_ptr<cublasContext, HandleDeleter> handle_;
  std::unique_ptr<std::byte, DeviceDeleter> workspace_;
};

}  // namespace sparkbench
