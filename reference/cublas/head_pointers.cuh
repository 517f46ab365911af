// Head addresses in the form that cuBLAS's batched products take: arrays of pointers in GPU memory.
// One call then covers every head of every batch element, which no single stride between [batch,
// seqlen, heads, head_dim] matrices allows. It is as fast as a call with a stride.
#pragma once

#include <cstddef>

#include "kernels/machine/cuda_check.h"
#include "reference/cublas/head_places.h"

namespace sparkbench {

/// pointers[t][b][h], t < gridDim.y.
static __global__ void write_head_pointers(HeadPlacesOfTensors tensors, int batch, int heads,
                                           std::byte** pointers) {
  const std::size_t count = std::size_t(batch) * std::size_t(heads);
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const HeadPlaces& places = tensors.of[blockIdx.y];
  pointers[blockIdx.y * count + i] = places.first + i / heads * places.batch_bytes +
                                     i % heads / places.group_size * places.head_bytes;
}

/// Device memory and a record of its contents.
struct HeadPointerMemory {
  std::byte** pointers;  // head_pointer_bytes()
  WrittenHeadPlaces* written;
};

/// The arrays of one pass. First add() every tensor, then write() all, then run the products.
class HeadPointers {
 public:
  HeadPointers(int batch, int heads, const HeadPointerMemory& memory)
      : batch_(batch), heads_(heads), memory_(memory) {}

  int count() const { return batch_ * heads_; }

  /// The array that write() will fill for `places`.
  std::byte* const* add(const HeadPlaces& places) {
    tensors_.of[tensors_added_] = places;
    return memory_.pointers +
           static_cast<std::size_t>(tensors_added_++) * static_cast<std::size_t>(count());
  }

  void write(cudaStream_t stream) const {
    if (memory_.written->hold(tensors_, tensors_added_, stream)) return;
    constexpr unsigned kThreads = 256;
    const auto blocks = (static_cast<unsigned>(count()) + kThreads - 1) / kThreads;
    write_head_pointers<<<dim3(blocks, static_cast<unsigned>(tensors_added_)), kThreads, 0,
                          stream>>>(tensors_, batch_, heads_, memory_.pointers);
    CUDA_CHECK(cudaGetLastError());
    *memory_.written = {tensors_, tensors_added_, stream};
  }

 private:
  int batch_, heads_;
  HeadPointerMemory memory_;
  int tensors_added_ = 0;
  HeadPlacesOfTensors tensors_ = {};
};

inline std::size_t head_pointer_bytes(int batch, int heads, int tensors) {
  return static_cast<std::size_t>(tensors) * static_cast<std::size_t>(batch) *
         static_cast<std::size_t>(heads) * sizeof(std::byte*);
}

}  // namespace sparkbench
