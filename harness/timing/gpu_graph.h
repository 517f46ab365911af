// Work that is enqueued once and launched as one CUDA graph. C++20 host code.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

class GpuGraph {
 public:
  /// Records the work that `enqueue` puts on the stream without running it. Throws
  /// std::runtime_error for work that a graph cannot contain, and leaves the stream as it was.
  GpuGraph(const CudaStream& stream, const std::function<void()>& enqueue);
  ~GpuGraph();
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  /// Number of kernels, copies and fills.
  int launches() const { return launches_; }
  void launch(const CudaStream& stream) const;

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  int launches_ = 0;
};

}  // namespace sparkbench
