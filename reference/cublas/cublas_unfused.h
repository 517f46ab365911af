// The baselines `cublas-fp16` and `cublas-fp32`: attention as cuBLAS GEMMs around one kernel for
// scale, mask, softmax and dropout, forward and backward. The matrices between them are in GPU
// memory. The names give the type of the tensors; both accumulate in fp32 (CUBLAS_COMPUTE_32F,
// split-k sums included).
//   cublas-fp16  S, P, O and gradients in fp16: what frameworks run without fusion. The timed
//                baseline.
//   cublas-fp32  q, k, v, d_o widened; the rest in fp32 without TF32: a high-precision check.
// cublas-fp16 reads and writes the tensors in place by their strides; cublas-fp32 makes contiguous
// copies. dropout(P) overwrites S [batch, heads, seqlen_q, seqlen_k], whose rows are padded to 16
// bytes. A training step also keeps P if dropout changes it, and has a third matrix for dP and dS.
// The workspace also holds a pattern's bits. Heads that share keys read them in place. Each such
// head has its own dK and dV in fp32, which are then summed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "kernels/problem/tensors.h"
#include "reference/cublas/head_places.h"
#include "reference/cublas/unfused_part.h"

struct cublasContext;

namespace sparkbench {

enum class UnfusedPrecision { kFp16, kFp32 };

/// NVIDIA's recommendation for Hopper, and more than cuBLAS uses elsewhere. We allocate it, so that
/// it is counted.
inline constexpr std::size_t kUnfusedCublasBytes = std::size_t{32} << 20;

template <class T>
struct UnfusedWorkspace;
struct PatternBits;

/// One problem of several that are computed one after the other, such as varlen sequences.
struct UnfusedPlace {
  int first_head = 0;  // for dropout, counted over the batch: batch entry * heads
  int lse_stride = 0;  // offset from one head's LSE to the next; 0: seqlen_q
  /// Device memory for cuBLAS, kUnfusedCublasBytes, shared by these problems; null: allocate one.
  std::shared_ptr<std::byte> cublas_workspace = nullptr;
};

/// Device memory, freed with the pointer. Throws OutOfDeviceMemory.
std::shared_ptr<std::byte> allocate_on_device(std::size_t bytes);

/// Device bytes that CublasUnfused allocates for `problem`, cuBLAS' own workspace included.
std::size_t cublas_unfused_workspace_bytes(const Problem& problem, UnfusedPrecision precision,
                                           Pass pass = Pass::kForward);

/// A cuBLAS handle of the current device. Each handle takes about 64 MiB there.
std::shared_ptr<cublasContext> make_cublas_handle();

/// Owns the workspace of one problem. Every member throws OutOfDeviceMemory for an allocation
/// failure and std::runtime_error for any other CUDA or cuBLAS error.
class CublasUnfused {
 public:
  /// Allocates the workspace on the current device; `pass` kBackward makes room for training steps.
  CublasUnfused(const Problem& problem, UnfusedPrecision precision, Pass pass = Pass::kForward,
                std::shared_ptr<cublasContext> handle = make_cublas_handle(),
                UnfusedPlace place = {});

  /// Bytes that this object allocated.
  std::size_t workspace_bytes() const;

  /// Enqueues a forward pass on `stream`. The tensors are on the device. `after_part` is called
  /// after each GEMM and softmax; the copies of cublas-fp32 count to the next part.
  void forward(const ForwardTensors& tensors, cudaStream_t stream,
               const AfterPart& after_part = {});

  /// Enqueues the backward pass of the last forward pass and uses its P. `tensors` must have the
  /// same q, k and v. Does not read o and lse: delta = rowsum(P * dropout(dP)). May be repeated.
  /// Throws std::logic_error if constructed for forward passes, or before the first forward pass.
  void backward(const BackwardTensors& tensors, cudaStream_t stream,
                const AfterPart& after_part = {});

  /// O of the last forward before its rounding to fp16, [batch, seqlen_q, heads, head_dim] on the
  /// device; null for cublas-fp16.
  const float* o_fp32() const;

 private:
  cublasContext* handle_on(cudaStream_t stream) const;
  PatternBits pattern_bits(std::size_t offset) const;
  template <class T>
  UnfusedWorkspace<T> workspace();
  /// The part of the workspace at a byte offset.
  template <class T>
  T* part(std::size_t offset) const {
    return reinterpret_cast<T*>(workspace_.get() + offset);
  }

  Problem problem_;
  UnfusedPrecision precision_;
  Pass pass_;
  bool has_forward_ = false;
  std::shared_ptr<cublasContext> handle_;
  UnfusedPlace place_;
  std::shared_ptr<std::byte> workspace_;
  WrittenHeadPlaces forward_heads_, backward_heads_;
};

}  // namespace sparkbench
