// An encoder layer on a GPU: its products by cublasLt, everything between by kernels over rows, and
// any attention. Each pass enqueues what layer_steps() lists, in one block of memory in which later
// tensors reuse the space of earlier ones.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/machine/cuda_resources.h"
#include "kernels/problem/tensors.h"
#include "reference/encoder/layer_memory.h"
#include "reference/encoder/layer_steps.h"
#include "reference/encoder/product.h"

namespace sparkbench {

/// In device memory, aligned to 256 bytes. Matrices are [out, in]; those of Q, K and V are stacked.
/// A layer without biases has zeros there.
struct LayerWeightPointers {
  const Half *w_qkv, *w_o, *w_1, *w_2;
  const Half *b_qkv, *b_o, *b_1, *b_2;
  const Half *gamma_1, *beta_1, *gamma_2, *beta_2;
};

/// Called on the host when a stage has been enqueued, and later ones not yet. A backward pass
/// visits each stage again.
using AfterStage = std::function<void(Stage)>;

/// A result in device memory.
struct LayerGradient {
  std::string name;  // "dx", "dWqkv", "dbo", "dgamma1", ...
  const Half* data = nullptr;
  std::size_t elements = 0;
};

class GpuLayer {
 public:
  /// For forward passes, or for forward and backward ones. With kBackward the tensors that a
  /// forward pass keeps stay valid however often the backward pass is repeated. Allocates on the
  /// current device. `library` must outlive the layer. Throws UnsupportedError for extents that the
  /// kernels do not support, OutOfDeviceMemory.
  GpuLayer(const LayerShape& shape, const Problem& problem, Pass pass,
           const LayerWeightPointers& weights, const ProductLibrary& library, cudaStream_t stream);
  ~GpuLayer();
  GpuLayer(const GpuLayer&) = delete;
  GpuLayer& operator=(const GpuLayer&) = delete;

  /// The attention's tensors; Q, K and V are slices of one tensor. Varlen sequences are packed as
  /// in Problem::packed().
  ForwardTensors attention_tensors() const;
  /// Only for a layer that has a backward pass.
  BackwardTensors attention_gradients() const;
  /// Functions that enqueue the attention on the layer's stream.
  void set_attention(std::function<void()> forward, std::function<void()> backward);

  /// Enqueues NaNs into everything but the weights, so that elements that nobody writes show.
  void poison() const;

  /// Enqueues a pass. Needs the attention and "x"; a backward pass also "dy", and a forward pass
  /// before it.
  void forward(const AfterStage& after_stage = [](Stage) {}) const;
  void backward(const AfterStage& after_stage = [](Stage) {}) const;

  /// Enqueues one stage of a forward pass, from what its tensors hold. Pre-LN's ff2 is the product
  /// with its bias, without the residual.
  void forward_stage(Stage stage) const;

  /// A tensor by its name in layer_steps(): "x", "dy", "y", ... Null if the layer does not keep it.
  Half* tensor(std::string_view name) const;
  /// Gradients of a backward pass, by the names that errors have
  /// (reference/encoder/layer_errors.h).
  std::vector<LayerGradient> gradients() const;
  /// Device memory, without the weights and the library's and the attention's own.
  std::uint64_t bytes() const;

 private:
  struct Passes;
  std::unique_ptr<Passes> passes_;
};

}  // namespace sparkbench
