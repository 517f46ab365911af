// CUDA resources that free themselves. Included only where the GPU path is built.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "kernels/machine/cuda_check.h"

namespace sparkbench {

/// Free memory of the current device.
inline std::size_t free_device_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

/// The opt-in maximum of shared memory per block on the current device.
inline std::size_t shared_bytes_per_block() {
  int device = 0, bytes = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(bytes);
}

/// Makes the current device's primary context the thread's. A thread that has called nothing of the
/// runtime has none, and functions of the driver (cu...) fail there: so before any of these.
inline void make_context_current() {
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaSetDevice(device));
#if CUDART_VERSION < 12000
  CUDA_CHECK(cudaFree(nullptr));  // cudaSetDevice() initializes the context since CUDA 12
#endif
}

/// Device memory.
class DeviceBuffer {
 public:
  /// Throws OutOfDeviceMemory when there is not enough of it.
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes));
    memory_.reset(memory);
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const { cudaFree(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t bytes_;
};

class CudaStream {
 public:
  CudaStream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronize() const { CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() { CUDA_CHECK(cudaEventCreate(&event_)); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(const CudaStream& stream) const { CUDA_CHECK(cudaEventRecord(event_, stream.get())); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace sparkbench
