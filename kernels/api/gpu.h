// What the library asks of CUDA itself. A build without CUDA has gpu_absent.cc instead. C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/problem/attention.h"

struct CUstream_st;  // *cudaStream_t

namespace sparkbench {

/// Makes a GPU the calling thread's current one, and puts back the former at its end. Throws
/// ApiError (DEVICE_ERROR) where there is no such GPU.
class CurrentGpu {
 public:
  explicit CurrentGpu(int device);
  ~CurrentGpu();
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  int former_ = -1;  // -1: nothing to put back
};

/// The properties that decide which kernels run on a GPU (KernelDevice of attention_kernel.h).
struct GpuTraits {
  int sm;  // compute capability: 70, 75, ...
  std::size_t shared_bytes_per_block;
};

/// Queried once for each GPU. Throws ApiError: NO_DEVICE_CODE, with the remedy, if the library has
/// no code for the GPU; DEVICE_ERROR if there is no GPU of that number.
GpuTraits describe_gpu(int device);

/// keep[((b * heads + h) * seqlen_q + q) * seqlen_k + k], in memory of the current GPU, is 1 where
/// the problem's dropout keeps an element and 0 where not. `offset`, in the same memory, unless it
/// is null. Throws what a launch throws.
void fill_dropout_mask_of_gpu(const Problem& problem, const DropoutOffset* offset,
                              std::uint8_t* keep, CUstream_st* stream);

/// A copy in memory of a GPU: there when the call returns, for every stream, and freed with the
/// pointer, which waits for what the GPU is at. Also while streams are captured. Throws as
/// CUDA_CHECK does.
std::shared_ptr<const void> copy_to_gpu(int device, const std::byte* bytes, std::size_t count);

/// The number of the GPU whose memory it is. Throws as CUDA_CHECK does.
int gpu_of_memory(const void* memory);

/// Whether what is launched in a stream of the current GPU becomes part of a CUDA graph. Throws as
/// CUDA_CHECK does.
bool is_captured(CUstream_st* stream);

/// "70,75,80", or "" without CUDA.
const char* compiled_architectures();

}  // namespace sparkbench
