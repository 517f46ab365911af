// The references `cublas-fp16` and `cublas-fp32`: attention as cuBLAS GEMMs around one kernel for
// scale, mask, softmax and dropout, forward and backward, with the matrices between them in GPU
// memory. The names give the type of the tensors; both accumulate in fp32 (CUBLAS_COMPUTE_32F,
// split-k sums included).
//   cublas-fp16  S, P, O and gradients in fp16: what frameworks run when they do not fuse. The
//                timed baseline.
//   cublas-fp32  q, k, v, d_o widened; all else in fp32 without TF32: a check of high precision.
// Tensors are read and written in place by their strides, of which cublas-fp32 makes contiguous
// copies. S [batch, heads, seqlen_q, seqlen_k] is overwritten by dropout(P), its rows padded to 16
// bytes. A training step also keeps P where dropout changes it, and has a third matrix for dP and
// dS. A pattern's bits lie beside it. Heads that share keys read them in place; each has dK and dV
// of its own in fp32, which are added up.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "kernels/tensors.h"
#include "reference/cublas/head_places.h"
#include "reference/cublas/unfused_part.h"

struct cublasContext;

namespace sparkbench {

enum class UnfusedPrecision { kFp16, kFp32 };

/// What NVIDIA recommends on Hopper, more than cuBLAS takes elsewhere. Ours, so that it is counted.
inline constexpr std::size_t kUnfusedCublasBytes = std::size_t{32} << 20;

template <class T>
struct UnfusedWorkspace;
struct PatternBits;

/// A problem as one of several that are computed one after the other, such as packed sequences.
struct UnfusedPlace {
  int first_head = 0;  // of all that dropout counts: batch entry * heads
  int lse_stride = 0;  // from a head's LSE to the next one's; 0: seqlen_q
  /// For cuBLAS, on the device, of kUnfusedCublasBytes, that these share; null: one of its own.
  std::shared_ptr<std::byte> cublas_workspace = nullptr;
};

/// Device memory, freed with the pointer. Throws OutOfDeviceMemory.
std::shared_ptr<std::byte> allocate_on_device(std::size_t bytes);

/// Device bytes that CublasUnfused allocates for `problem`, cuBLAS' own workspace included.
std::size_t cublas_unfused_workspace_bytes(const Problem& problem, UnfusedPrecision precision,
                                           Pass pass = Pass::kForward);

/// A cuBLAS handle of the current device. It takes memory of its own there, some 64 MiB, whatever
/// it is used for.
std::shared_ptr<cublasContext> make_cublas_handle();

/// Owns the workspace of one problem. Everything throws std::runtime_error on a CUDA or cuBLAS
/// error, OutOfDeviceMemory where it is that.
class CublasUnfused {
 public:
  /// Allocates the workspace on the current device, for training steps if `pass` is kBackward.
  CublasUnfused(const Problem& problem, UnfusedPrecision precision, Pass pass = Pass::kForward,
                std::shared_ptr<cublasContext> handle = make_cublas_handle(),
                UnfusedPlace place = {});

  /// That it allocated itself.
  std::size_t workspace_bytes() const;

  /// Enqueues a forward pass on `stream`. The tensors lie on the device. `after_part` hears of each
  /// GEMM and softmax; cublas-fp32's copies count to the part behind them.
  void forward(const ForwardTensors& tensors, cudaStream_t stream,
               const AfterPart& after_part = {});

  /// Enqueues the backward pass of the last forward, whose q, k and v `tensors` must repeat, and
  /// whose P it takes; o and lse are not read: delta = rowsum(P * dropout(dP)). May be repeated.
  /// Throws std::logic_error when made for forward passes, or before the first.
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
