// The peer `cudnn`: scaled-dot-product attention by NVIDIA's cuDNN, forward and backward.
//   fp16 in and out, fp32 accumulation. Needs compute capability 8.0 and libcudnn.so.9, which is
//   looked for at run time.
//   Packed sequences (kernels/packed.h) need compute capability 9.0 and cuDNN 9.10.2. cuDNN finds
//   them by ragged offsets; rows without keys, and keys without rows, are cleared beside it.
//   Its dropout draws a mask of its own, so what it computes with dropout cannot be compared with
//   the definition here: it is verified without, and timed with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/machine/cuda_resources.h"
#include "kernels/tensors.h"
#include "reference/cudnn/attention_graph.h"
#include "reference/cudnn/plan.h"
#include "reference/cudnn/ragged_memory.h"

namespace sparkbench {

/// "9.19.1", or nothing where the dynamic loader finds no cuDNN.
std::optional<std::string> cudnn_version();

/// Whether cuDNN is there and has attention for compute capability `sm`.
bool has_cudnn_attention(int sm);
/// The same of packed sequences.
bool has_packed_cudnn_attention(int sm);

/// Of these tensors; a forward pass has no `backward`.
cudnn::AttentionStrides attention_strides(const ForwardTensors& forward,
                                          const BackwardTensors* backward = nullptr);

/// A problem that cuDNN is ready to compute. What it compiles and allocates, it does when it is
/// made. Everything throws std::runtime_error on an error of CUDA or cuDNN.
class CudnnAttention {
 public:
  /// On the current device, where tensors are those of Problem::packed() if the problem has
  /// lengths; the backward pass too unless `pass` is kForward. Deterministic means that dQ has the
  /// same bits in every run. Throws UnsupportedError for a problem that this cuDNN cannot compute
  /// here.
  CudnnAttention(const Problem& problem, Pass pass, bool is_deterministic = false)
      : CudnnAttention(problem, pass, is_deterministic, cudnn::contiguous_strides(problem)) {}
  /// The same of tensors that are not contiguous.
  CudnnAttention(const Problem& problem, Pass pass, bool is_deterministic,
                 const cudnn::AttentionStrides& strides);

  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// cuDNN's own workspaces and what the backward pass keeps between its kernels.
  std::size_t workspace_bytes() const;

  /// Enqueues a forward pass on `stream`. The tensors lie on the device, aligned to 16 bytes.
  /// Throws std::invalid_argument unless they have the strides that it was made for, as backward()
  /// does.
  void forward(const ForwardTensors& tensors, CUstream_st* stream) const;
  /// Enqueues a backward pass; o and lse are those of a forward pass.
  void backward(const BackwardTensors& tensors, CUstream_st* stream) const;

 private:
  std::optional<cudnn::RaggedMemory> make_ragged() const;
  bool has_pairs() const { return !ragged_ || !ragged_->batch().sequences.empty(); }
  const cudnn::RaggedBatch* ragged_batch() const;  // null where all have one length
  cudnn::AttentionPlan attention_plan() const;
  std::vector<cudnn::Binding> own_bindings() const;
  std::optional<cudnn::Plan> make_forward() const;
  std::optional<cudnn::Plan> make_backward(Pass pass, bool is_deterministic) const;

  cudnn::Api api_;
  Problem problem_;
  cudnn::AttentionStrides strides_;
  std::optional<cudnn::RaggedMemory> ragged_;
  cudnn::Handle handle_;
  std::optional<cudnn::Plan> forward_, backward_;  // none where no row sees a key
  DeviceBuffer workspace_;                         // of the pass that runs
  DeviceBuffer seed_;                              // of the dropout mask, and its offset
  DeviceBuffer delta_, dq_sum_, dk_of_heads_, dv_of_heads_;
};

}  // namespace sparkbench
