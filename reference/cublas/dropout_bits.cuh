// Which columns of a row dropout keeps, for lanes with 8 consecutive columns each: one bit per
// column, four chunks per word (dropout_lanes.h).
#pragma once

#include "kernels/machine/permute.cuh"
#include "kernels/strided/pass_dropout.h"
#include "reference/cublas/dropout_lanes.h"
#include "reference/cublas/score_rows.cuh"

namespace sparkbench {

/// The kept columns of one chunk of a word.
class KeptColumns {
 public:
  __device__ __forceinline__ KeptColumns(std::uint32_t dropped, int chunk)
      : dropped_(dropped), chunk_(chunk) {}

  /// The pair, with zeros for dropped columns.
  __device__ __forceinline__ __half2 dropped(__half2 value, int pair) const {
    // Shifts the bits of column 2 * pair to the top of their bytes; each then gives half of a mask.
    const std::uint32_t on_top = dropped_ << (7 - 4 * (chunk_ & 1) - pair);
    const std::uint32_t mask =
        chunk_ < 2 ? permute_signs<0x9988>(on_top) : permute_signs<0xbbaa>(on_top);
    const std::uint32_t kept = reinterpret_cast<const std::uint32_t&>(value) & ~mask;
    return reinterpret_cast<const __half2&>(kept);
  }
  __device__ __forceinline__ float2 dropped(float2 value, int pair) const {
    return make_float2(is_dropped(pair, 0) ? 0.0f : value.x, is_dropped(pair, 1) ? 0.0f : value.y);
  }

 private:
  __device__ __forceinline__ bool is_dropped(int pair, int e) const {
    return (dropped_ & 1u << dropped_column_bit(chunk_, pair, e)) != 0;
  }

  std::uint32_t dropped_;
  int chunk_;  // a constant once loops are unrolled
};

/// The kept columns of this lane's chunks of a segment, four chunks per word. Draw them while the
/// row is being loaded.
template <int kChunks, bool kDrops>
class KeptRow {
 public:
  template <bool kIsWhole, class Row>
  __device__ __forceinline__ void draw(const Row& row, int segment) {
    if constexpr (kDrops) {
#pragma unroll
      for (int c = 0; c < kChunks; c += kWordChunks) {
        std::uint32_t& word = dropped_[c / kWordChunks];
        word = 0;
        if (!kIsWhole && !reaches_any(row, segment, c)) continue;
        word = drawn(row, segment, c);
        word = exchanged<4>(word, 4);
        word = exchanged<2>(word, 2);
        word = exchanged<1>(word, 1);
        place_views(row, segment, c, word);
      }
    }
  }

  __device__ __forceinline__ KeptColumns of(int chunk) const {
    return KeptColumns(dropped_[chunk / kWordChunks], chunk % kWordChunks);
  }

 private:
  static_assert(kChunks % kWordChunks == 0, "as many as a word holds");
  static constexpr unsigned kAll = 0xffffffffu;

  template <class Row>
  static __device__ __forceinline__ bool reaches_any(const Row& row, int segment, int first_chunk) {
    bool reaches = false;
    for (int c = first_chunk; c < first_chunk + kWordChunks; ++c) {
      reaches = reaches || row.reaches(row.template first_column<kChunks>(segment, c));
    }
    return __any_sync(kAll, reaches) != 0;
  }

  /// Block n of the 16 blocks in the word of `first_chunk` and these eight lanes.
  template <class Row>
  static __device__ __forceinline__ std::uint32_t block(const Row& row, int segment,
                                                        int first_chunk, int n) {
    const int column =
        row.template first_column<kChunks>(segment, first_chunk + chunk_of_block(n)) +
        row.lane() / 8 * 64 + 2 * pair_of_block(n);
    return dropped_of_block(
        row.dropout(), static_cast<std::uint32_t>(row.dropout_head()),
        dropout_block(static_cast<std::uint32_t>(row.row()), static_cast<std::uint32_t>(column)));
  }

  /// Overwrites the columns that a pattern's strided views cover. The loops are not unrolled:
  /// unrolled they would be most of the code of every kernel and overflow the instruction cache.
  template <class Row>
  static __device__ __forceinline__ void place_views(const Row& row, int segment, int first_chunk,
                                                     std::uint32_t& word) {
    if (!row.has_views()) return;
#pragma unroll 1
    for (int chunk = 0; chunk < kWordChunks; ++chunk) {
      const int first_column = row.template first_column<kChunks>(segment, first_chunk + chunk);
      row.for_columns_of_views(
          row.lane_column(first_column), [&](int j, const DropoutPlace& place) {
            const std::uint32_t bit = 1u << dropped_column_bit(chunk, j / 2, j % 2);
            word = dropout_keeps(row.dropout(), place) ? word & ~bit : word | bit;
          });
    }
  }

  /// The word before the exchanges among eight lanes. The half warps share the blocks of their two
  /// rows.
  template <class Row>
  static __device__ __forceinline__ std::uint32_t drawn(const Row& row, int segment,
                                                        int first_chunk) {
    constexpr int kLanes = Row::kLanes;
    const int place = static_cast<int>(threadIdx.x) % 8;
    if constexpr (kLanes < kWarpLanes) {
      const int second = static_cast<int>(threadIdx.x) / kLanes % 2;
      return exchanged<16>(block(row, segment, first_chunk, 8 * second + place), kLanes);
    } else {
      return row_of_blocks(block(row, segment, first_chunk, place),
                           block(row, segment, first_chunk, 8 + place), (row.row() & 8) != 0);
    }
  }

  template <int kDistance>
  static __device__ __forceinline__ std::uint32_t exchanged(std::uint32_t word, int lane_mask) {
    return exchange_bits<kDistance>(word, __shfl_xor_sync(kAll, word, lane_mask),
                                    (static_cast<int>(threadIdx.x) & lane_mask) != 0);
  }

  std::uint32_t dropped_[kDrops ? kChunks / kWordChunks : 1];
};

}  // namespace sparkbench
