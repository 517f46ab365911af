// Eight consecutive columns of a row of S, P or dP. A lane loads and stores a chunk in 16-byte
// accesses and keeps it packed as in memory.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace sparkbench {

inline constexpr int kChunkColumns = 8;
inline constexpr std::uint32_t kWholeChunk = 0xffu;  // one bit per column

template <class T>
struct PairOf;
template <>
struct PairOf<__half> {
  using Type = __half2;
};
template <>
struct PairOf<float> {
  using Type = float2;
};

__device__ __forceinline__ float2 widened(__half2 pair) { return __half22float2(pair); }
__device__ __forceinline__ float2 widened(float2 pair) { return pair; }

template <class T>
__device__ __forceinline__ typename PairOf<T>::Type narrowed(float2 pair) {
  if constexpr (sizeof(T) == sizeof(__half)) {
    return __float22half2_rn(pair);
  } else {
    return pair;
  }
}

__device__ __forceinline__ __half2 max_of(__half2 a, __half2 b) { return __hmax2(a, b); }
__device__ __forceinline__ float2 max_of(float2 a, float2 b) {
  return make_float2(fmaxf(a.x, b.x), fmaxf(a.y, b.y));
}

template <class T>
struct alignas(16) ScoreChunk {
  static constexpr int kPairs = kChunkColumns / 2;
  static constexpr int kWords = kChunkColumns * sizeof(T) / sizeof(uint4);
  static constexpr int kColumnsPerWord = kChunkColumns / kWords;
  typename PairOf<T>::Type pair[kPairs];  // columns 2i and 2i + 1

  __device__ __forceinline__ void fill(float value) {
    for (auto& one : pair) one = narrowed<T>(make_float2(value, value));
  }

  /// Loads from `column` of a row on. In a row padded to 16 bytes, only half of the last chunk of
  /// floats may exist.
  __device__ __forceinline__ void load(const T* row, int column, int row_stride) {
    for (int i = 0; i < kWords; ++i) {
      if (i > 0 && column + i * kColumnsPerWord >= row_stride) continue;
      words()[i] = reinterpret_cast<const uint4*>(row + column)[i];
    }
  }
  __device__ __forceinline__ void store(T* row, int column, int row_stride) const {
    for (int i = 0; i < kWords; ++i) {
      if (i > 0 && column + i * kColumnsPerWord >= row_stride) continue;
      reinterpret_cast<uint4*>(row + column)[i] = reinterpret_cast<const uint4*>(pair)[i];
    }
  }

  /// Overwrites the columns whose bit is not set.
  __device__ __forceinline__ void hide(std::uint32_t visible, float value) {
    const T hidden = static_cast<T>(value);
    for (int i = 0; i < kPairs; ++i) {
      if ((visible & (1u << (2 * i))) == 0) pair[i].x = hidden;
      if ((visible & (2u << (2 * i))) == 0) pair[i].y = hidden;
    }
  }

 private:
  __device__ __forceinline__ uint4* words() { return reinterpret_cast<uint4*>(pair); }
};

}  // namespace sparkbench
