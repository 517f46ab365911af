// Outputs that a candidate allocated itself on a GPU: overwritten where they are, and copied to
// where others write theirs.
#pragma once

#include "harness/candidates/own_outputs.h"
#include "harness/devices/gpu_check_kernels.h"
#include "harness/devices/gpu_memory.h"

namespace sparkbench {

class GpuOwnOutputs {
 public:
  /// `shapes` has the tensors' shapes, and outlives this object, as the stream does.
  GpuOwnOutputs(const Problem& shapes, const CudaStream& stream)
      : shapes_(shapes), stream_(stream) {}

  /// Enqueues NaNs for those that the pass will compute.
  void poison(const OwnOutputs& own, Pass pass) const {
    if (pass != Pass::kBackward) {
      poison(own.o, query_shape(shapes_));
      if (own.lse != nullptr) poison(own.lse, shapes_.lse_elements() * sizeof(float));
    }
    if (pass != Pass::kForward) {
      poison(own.dq, query_shape(shapes_));
      poison(own.dk, key_shape(shapes_));
      poison(own.dv, key_shape(shapes_));
    }
  }

  /// Enqueues copies. An output that was not computed leaves the tensor as it is.
  void copy_forward(const OwnOutputs& own, const TensorView<Bits16>& o, float* lse) const {
    copy(own.o, query_shape(shapes_), o);
    if (own.lse == nullptr) return;
    CUDA_CHECK(cudaMemcpyAsync(lse, own.lse, shapes_.lse_elements() * sizeof(float),
                               cudaMemcpyDeviceToDevice, stream_.get()));
  }
  void copy_gradients(const OwnOutputs& own, const BackwardTensors& to) const {
    copy(own.dq, query_shape(shapes_), to.dq);
    copy(own.dk, key_shape(shapes_), to.dk);
    copy(own.dv, key_shape(shapes_), to.dv);
  }

 private:
  void poison(void* data, std::size_t bytes) const {
    CUDA_CHECK(cudaMemsetAsync(data, kPoisonByte, bytes, stream_.get()));
  }
  void poison(const TensorView<Half>& view, const TensorShape& shape) const {
    if (view.data == nullptr || elements_of(shape) == 0) return;
    if (is_dense(view, shape)) return poison(view.data, span_bytes(view, shape));
    enqueue_poison(stream_.get(), view, rows_of(shape));
  }
  void copy(const TensorView<Half>& view, const TensorShape& shape,
            const TensorView<Bits16>& to) const {
    if (view.data == nullptr) return;
    enqueue_copy<Bits16>(stream_.get(), to, view, rows_of(shape));
  }
  static RowShape rows_of(const TensorShape& shape) {
    return {shape.batch, shape.seqlen, shape.heads, shape.head_dim};
  }

  const Problem& shapes_;
  const CudaStream& stream_;
};

}  // namespace sparkbench
