// Rows of S, P or dP in GPU memory and how a warp walks over one, for the kernels between the
// GEMMs of the unfused computation. One warp a row; a lane takes 16 columns of a 64-column group at
// a time, those of one dropout_bytes call.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>

#include "kernels/attention.h"

namespace sparkbench {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kScoreRowsThreads = 128;
inline constexpr unsigned kScoreRowsPerBlock = kScoreRowsThreads / kWarpSize;

/// Of [rows, row_stride] with rows = batch * heads * seqlen_q, of which seqlen_k columns are in
/// use. row_stride is even; a column of padding may be read, is ignored, and is overwritten.
struct ScoreShape {
  std::size_t rows;
  std::size_t row_stride;
  KeyMask mask;
  Dropout dropout;

  __device__ Range all_columns() const { return {0, mask.seqlen_k}; }
};

__device__ inline float2 load_pair(const __half* p) {
  return __half22float2(*reinterpret_cast<const __half2*>(p));
}
__device__ inline float2 load_pair(const float* p) { return *reinterpret_cast<const float2*>(p); }
__device__ inline void store_pair(__half* p, float2 pair) {
  *reinterpret_cast<__half2*>(p) = __float22half2_rn(pair);
}
__device__ inline void store_pair(float* p, float2 pair) { *reinterpret_cast<float2*>(p) = pair; }

/// `value` as memory of type T would hold it.
template <class T>
__device__ float rounded_to(float value) {
  return static_cast<float>(static_cast<T>(value));
}

__device__ inline float warp_max(float value) {
  for (int mask = 16; mask > 0; mask /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

__device__ inline float warp_sum(float value) {
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  return value;
}

/// The 16 columns of one dropout_bytes call: 2 * pair + {0, 1} of each 8 columns of a group of 64.
struct Slice {
  int group;
  int pair;
};

/// visit(slice) for this lane's share of the slices that have one of these columns.
template <class Visit>
__device__ void for_each_slice(const Range& columns, Visit visit) {
  const int first = columns.begin / 64 * 4;
  const int end = columns.is_empty() ? first : (columns.end + 63) / 64 * 4;
  for (int i = first + threadIdx.x % kWarpSize; i < end; i += kWarpSize) visit(Slice{i / 4, i % 4});
}

/// visit(column) for the even columns of a slice of which one of {column, column + 1} is asked for.
template <class Visit>
__device__ void for_each_pair(const Slice& slice, const Range& columns, Visit visit) {
  const int first = 64 * slice.group + 2 * slice.pair;
  for (int column = first; column < min(columns.end, first + 64); column += 8) {
    if (column + 1 >= columns.begin) visit(column);
  }
}

/// The row of this thread's warp.
class ScoreRow {
 public:
  __device__ explicit ScoreRow(const ScoreShape& shape)
      : shape_(shape),
        index_(std::size_t{blockIdx.x} * kScoreRowsPerBlock + threadIdx.x / kWarpSize) {}

  __device__ bool exists() const { return index_ < shape_.rows; }
  /// In [batch, heads, seqlen_q].
  __device__ std::size_t index() const { return index_; }
  __device__ std::size_t offset() const { return index_ * shape_.row_stride; }
  __device__ Range visible() const {
    return shape_.mask.keys(static_cast<int>(index_ % shape_.mask.seqlen_q));
  }

  /// What decides over the columns of a slice.
  __device__ PhiloxBlock dropout_bytes_of(const Slice& slice) const {
    if (shape_.dropout.threshold == 0) return PhiloxBlock{};
    return dropout_bytes(shape_.dropout, static_cast<std::uint32_t>(index_ / shape_.mask.seqlen_q),
                         static_cast<std::uint32_t>(index_ % shape_.mask.seqlen_q),
                         static_cast<std::uint32_t>(slice.group),
                         static_cast<std::uint32_t>(slice.pair));
  }

  /// keep_scale * value, or 0 where dropped.
  __device__ float dropped(float value, const PhiloxBlock& bytes, int column) const {
    const bool keeps =
        dropout_byte(bytes, static_cast<std::uint32_t>(column)) >= shape_.dropout.threshold;
    return keeps ? value * shape_.dropout.keep_scale() : 0.0f;
  }

 private:
  const ScoreShape& shape_;
  std::size_t index_;
};

/// Blocks of kScoreRowsThreads threads that give every row a warp.
inline unsigned score_rows_blocks(const ScoreShape& shape) {
  return static_cast<unsigned>((shape.rows + kScoreRowsPerBlock - 1) / kScoreRowsPerBlock);
}

}  // namespace sparkbench
