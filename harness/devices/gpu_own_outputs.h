// Outputs that a candidate allocated itself on a GPU: overwritten where they are, and copied to
// where others write theirs.
#pragma once

#include "harness/candidates/own_outputs.h"
#include "harness/devices/gpu_check_kernels.h"
#include "harness/devices/gpu_memory.h"

namespace sparkbench {

class GpuOwnOutputs {
 public:
  /// `layout` has the tensors' shapes, and outlives this object, as the stream does.
  GpuOwnOutputs(const Problem& layout, const CudaStream& stream)
      : layout_(layout), stream_(stream) {}

  /// Enqueues NaNs for those that the pass will compute.
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

  /// Enqueues copies. An output that was not computed leaves the tensor as it is.
  void copy_forward(const OwnOutputs& own, Bits16* o, float* lse) const {
    copy(own.o, query_shape(layout_), o);
    if (own.lse == nullptr) return;
    CUDA_CHECK(cudaMemcpyAsync(lse, own.lse, layout_.lse_elements() * sizeof(float),
                               cudaMemcpyDeviceToDevice, stream_.get()));
  }
  void copy_gradients(const OwnOutputs& own, Bits16* dq, Bits16* dk, Bits16* dv) const {
    copy(own.dq, query_shape(layout_), dq);
    copy(own.dk, key_shape(layout_), dk);
    copy(own.dv, key_shape(layout_), dv);
  }

 private:
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
  void copy(const TensorView<Half>& view, const TensorShape& shape, Bits16* to) const {
    if (view.data == nullptr) return;
    enqueue_gather(stream_.get(), to, view,
                   {shape.batch, shape.seqlen, shape.heads, shape.head_dim, false});
  }

  const Problem& layout_;
  const CudaStream& stream_;
};

}  // namespace sparkbench
