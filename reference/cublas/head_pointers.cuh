// Where the matrix of each head of a tensor lies, as cuBLAS wants it for batched products: arrays
// of pointers in GPU memory. With them one call takes every head of every batch element, which no
// single stride between [batch, seqlen, heads, head_dim] matrices could.
#pragma once

#include <cstddef>

#include "kernels/machine/cuda_check.h"

namespace sparkbench {

/// Byte address of head h of batch element b: first + b * batch_bytes + h * head_bytes.
struct HeadPlaces {
  std::byte* first;
  std::size_t batch_bytes, head_bytes;
};

inline constexpr int kMostHeadTensors = 9;  // a backward pass: q k v dO P dP dQ dK dV

struct HeadPlacesOfTensors {
  HeadPlaces of[kMostHeadTensors];
};

/// pointers[t][b][h], t < gridDim.y.
static __global__ void write_head_pointers(HeadPlacesOfTensors tensors, int batch, int heads,
                                           std::byte** pointers) {
  const std::size_t count = std::size_t(batch) * std::size_t(heads);
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const HeadPlaces& places = tensors.of[blockIdx.y];
  pointers[blockIdx.y * count + i] =
      places.first + i / heads * places.batch_bytes + i % heads * places.head_bytes;
}

/// The arrays of one pass: every tensor is add()ed, then all are written, then products read them.
class HeadPointers {
 public:
  /// `memory` on the device holds head_pointer_bytes().
  HeadPointers(int batch, int heads, std::byte** memory)
      : batch_(batch), heads_(heads), memory_(memory) {}

  int count() const { return batch_ * heads_; }

  /// The array that write() will fill for `places`.
  std::byte* const* add(const HeadPlaces& places) {
    tensors_.of[tensors_added_] = places;
    return memory_ + static_cast<std::size_t>(tensors_added_++) * static_cast<std::size_t>(count());
  }

  void write(cudaStream_t stream) const {
    constexpr unsigned kThreads = 256;
    const auto blocks = (static_cast<unsigned>(count()) + kThreads - 1) / kThreads;
    write_head_pointers<<<dim3(blocks, static_cast<unsigned>(tensors_added_)), kThreads, 0,
                          stream>>>(tensors_, batch_, heads_, memory_);
    CUDA_CHECK(cudaGetLastError());
  }

 private:
  int batch_, heads_;
  std::byte** memory_;
  int tensors_added_ = 0;
  HeadPlacesOfTensors tensors_ = {};
};

inline std::size_t head_pointer_bytes(int batch, int heads) {
  return kMostHeadTensors * static_cast<std::size_t>(batch) * static_cast<std::size_t>(heads) *
         sizeof(std::byte*);
}

}  // namespace sparkbench
