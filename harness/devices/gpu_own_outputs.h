// Outputs that a candidate allocated itself on a GPU: poisoned and fetched where they are.
#pragma once

#include <limits>
#include <vector>

#include "harness/candidates/own_outputs.h"
#include "harness/devices/run_outcome.h"
#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

class GpuOwnOutputs {
 public:
  /// `layout` has the tensors' shapes, and outlives this object, as the stream does.
  GpuOwnOutputs(const Problem& layout, const CudaStream& stream)
      : layout_(layout), stream_(stream) {}

  /// Overwrites those that the pass will compute, on the stream.
  void poison(const OwnOutputs& own, Pass pass) const {
    if (pass != Pass::kBackward) {
      poison(own.o, query_shape(layout_));
      if (own.lse != nullptr) poison(own.lse, layout_.lse_elements() * sizeof(float));
    }
    if (pass != Pass::kForward) {
      poison(own.dq, query_shape(layout_));
      poison(own.dk, key_shape(layout_));
      poison(own.dv, key_shape(layout_));
    }
  }

  /// An output that was not computed is NaN.
  void download_forward(const OwnOutputs& own, PassOutputs& outputs) const {
    outputs.o = download(own.o, query_shape(layout_));
    outputs.lse.assign(layout_.lse_elements(), std::numeric_limits<float>::quiet_NaN());
    if (own.lse == nullptr) return;
    CUDA_CHECK(cudaMemcpy(outputs.lse.data(), own.lse, outputs.lse.size() * sizeof(float),
                          cudaMemcpyDeviceToHost));
  }
  void download_gradients(const OwnOutputs& own, PassOutputs& outputs) const {
    outputs.dq = download(own.dq, query_shape(layout_));
    outputs.dk = download(own.dk, key_shape(layout_));
    outputs.dv = download(own.dv, key_shape(layout_));
  }

 private:
  static constexpr int kPoisonByte = 0x7f;  // 0x7f7f is a NaN in fp16; 0x7f7f7f7f is 3e38 in fp32
  static constexpr Half kMissing{0x7e00};   // NaN

  void poison(void* data, std::size_t bytes) const {
    CUDA_CHECK(cudaMemsetAsync(data, kPoisonByte, bytes, stream_.get()));
  }
  void poison(const TensorView<Half>& view, const TensorShape& shape) const {
    if (view.data == nullptr || elements_of(shape) == 0) return;
    if (is_dense(view, shape)) return poison(view.data, span_bytes(view, shape));
    for (int b = 0; b < shape.batch; ++b) {
      for (int h = 0; h < shape.heads; ++h) {
        CUDA_CHECK(cudaMemset2DAsync(
            view.row(b, 0, h), static_cast<std::size_t>(view.seqlen_stride) * sizeof(Half),
            kPoisonByte, static_cast<std::size_t>(shape.head_dim) * sizeof(Half),
            static_cast<std::size_t>(shape.seqlen), stream_.get()));
      }
    }
  }

  /// All bytes from its first element to its last: one copy is faster than many of rows.
  static std::vector<Half> download(const TensorView<Half>& view, const TensorShape& shape) {
    if (view.data == nullptr) return std::vector<Half>(elements_of(shape), kMissing);
    std::vector<Half> span(span_bytes(view, shape) / sizeof(Half));
    CUDA_CHECK(
        cudaMemcpy(span.data(), view.data, span.size() * sizeof(Half), cudaMemcpyDeviceToHost));
    return contiguous_copy({span.data(), view.batch_stride, view.seqlen_stride, view.head_stride},
                           shape);
  }

  const Problem& layout_;
  const CudaStream& stream_;
};

}  // namespace sparkbench
