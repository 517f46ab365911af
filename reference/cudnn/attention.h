// The candidate `cudnn`: scaled-dot-product attention by NVIDIA's cuDNN, forward and backward.
//   fp16 in and out, fp32 accumulation. Needs compute capability 8.0 and libcudnn.so.9, which is
//   looked up at run time.
//   Varlen (kernels/problem/packed.h) needs compute capability 9.0 and cuDNN 9.10.2. cuDNN
//   addresses the sequences by ragged offsets; we clear rows without keys and keys without rows
//   ourselves. With dropout cuDNN draws its own mask, so its results cannot be compared with this
//   project's definition. It is verified without dropout and timed with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/machine/cuda_resources.h"
#include "kernels/problem/tensors.h"
#include "reference/cudnn/attention_graph.h"
#include "reference/cudnn/plan.h"
#include "reference/cudnn/ragged_memory.h"

namespace sparkbench {

/// "9.19.1", or empty if the dynamic loader finds no cuDNN.
std::optional<std::string> cudnn_version();

/// Whether cuDNN is there and has attention for compute capability `sm`.
bool has_cudnn_attention(int sm);
/// The same for varlen.
bool has_packed_cudnn_attention(int sm);

/// Strides of these tensors; `backward` is null for a forward pass.
cudnn::AttentionStrides attention_strides(const ForwardTensors& forward,
                                          const BackwardTensors* backward = nullptr);

/// A problem that cuDNN is ready to compute. Construction compiles and allocates. Everything throws
/// std::runtime_error on an error of CUDA or cuDNN.
class CudnnAttention {
 public:
  /// Prepares on the current device; with pass kBackward also the backward pass. If the problem has
  /// lengths, the tensors are those of Problem::packed(). Deterministic means that dQ has the same
  /// bits in every run. Throws UnsupportedError if this cuDNN cannot compute the problem here.
  CudnnAttention(const Problem& problem, Pass pass, bool is_deterministic = false)
      : CudnnAttention(problem, pass, is_deterministic, cudnn::contiguous_strides(problem)) {}
  /// The same for tensors that are not contiguous.
  CudnnAttention(const Problem& problem, Pass pass, bool is_deterministic,
                 const cudnn::AttentionStrides& strides);

  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// cuDNN's own workspaces, plus what the backward pass keeps between its kernels.
  std::size_t workspace_bytes() const;

  /// Enqueues a forward pass on `stream`. The tensors are on the device, aligned to 16 bytes. Like
  /// backward(), throws std::invalid_argument if the strides differ from those at construction.
  void forward(const ForwardTensors& tensors, CUstream_st* stream) const;
  /// Enqueues a backward pass; o and lse are those of a forward pass.
  void backward(const BackwardTensors& tensors, CUstream_st* stream) const;

 private:
  std::optional<cudnn::RaggedMemory> make_ragged() const;
  bool has_pairs() const { return !ragged_ || !ragged_->batch().sequences.empty(); }
  const cudnn::RaggedBatch* ragged_batch() const;  // null if all sequences have one length
  cudnn::AttentionPlan attention_plan() const;
  std::vector<cudnn::Binding> own_bindings() const;
  std::optional<cudnn::Plan> make_forward() const;
  std::optional<cudnn::Plan> make_backward(Pass pass, bool is_deterministic) const;

  cudnn::Api api_;
  Problem problem_;
  cudnn::AttentionStrides strides_;
  std::optional<cudnn::RaggedMemory> ragged_;
  cudnn::Handle handle_;
  std::optional<cudnn::Plan> forward_, backward_;  // empty if no row sees a key
  DeviceBuffer workspace_;                         // for the current pass
  DeviceBuffer seed_;                              // seed of the dropout mask, and its offset
  DeviceBuffer delta_, dq_sum_, dk_of_heads_, dv_of_heads_;
};

}  // namespace sparkbench
