// Which columns of a row dropout keeps, for lanes that have 8 consecutive columns each.
//
// One Philox call decides over 16 columns, two of each eighth of 64 (kernels/dropout.h), so a
// lane's 8 columns hang on four calls, of which seven other lanes want their share. Two chunks of
// eight lanes hang on eight calls: each lane makes one, and they exchange a bit a column.
#pragma once

#include "kernels/machine/permute.cuh"
#include "reference/cublas/score_rows.cuh"

namespace sparkbench {

/// Whether byte 4w + k is at least the threshold, as bit 8k + 4 + w; all other bits are 0.
__device__ __forceinline__ std::uint32_t kept_bits(const PhiloxBlock& bytes,
                                                   std::uint32_t threshold) {
  constexpr std::uint32_t kSigns = 0x80808080u;
  const std::uint32_t low_bits = (threshold & 0x7fu) * 0x01010101u;
  const std::uint32_t is_small = threshold < 0x80u ? ~0u : 0u;
  std::uint32_t bits = 0;
#pragma unroll
  for (const std::uint32_t word : bytes.word) {
    // No byte borrows. Its sign is then whether the low bits of the byte reach the threshold's.
    const std::uint32_t reaches = (word | kSigns) - low_bits;
    const std::uint32_t is_kept = (word & reaches) | (word & is_small) | (reaches & is_small);
    bits = (bits >> 1) | (is_kept & kSigns);
  }
  return bits;
}

/// Of the columns of a chunk. Pair 0's are bits 7 and 15, pair 1's 3 and 11, 2's 23 and 31, 3's 19
/// and 27; the others mean nothing.
class KeptColumns {
 public:
  KeptColumns() = default;
  __device__ __forceinline__ explicit KeptColumns(std::uint32_t bits) : bits_(bits) {}

  /// Without those that mean nothing.
  __device__ __forceinline__ std::uint32_t bits() const { return bits_ & 0x88888888u; }

  /// A pair with zeros where it is dropped.
  __device__ __forceinline__ __half2 dropped(__half2 value, int pair) const {
    const std::uint32_t kept = reinterpret_cast<const std::uint32_t&>(value) & mask(pair);
    return reinterpret_cast<const __half2&>(kept);
  }
  __device__ __forceinline__ float2 dropped(float2 value, int pair) const {
    const std::uint32_t kept = mask(pair);
    return make_float2((kept & 0xffffu) != 0 ? value.x : 0.0f, kept >> 16 != 0 ? value.y : 0.0f);
  }

 private:
  /// All ones in the half of a column that is kept.
  __device__ __forceinline__ std::uint32_t mask(int pair) const {
    const std::uint32_t bits = pair % 2 == 0 ? bits_ : bits_ << 4;
    return pair < 2 ? permute_signs<0x9988>(bits) : permute_signs<0xbbaa>(bits);
  }

  std::uint32_t bits_ = 0;
};

/// Of this lane's chunks in two chunks of all lanes.
struct KeptChunks {
  KeptColumns of[2];
};

/// The chunks start at these columns. All lanes of the warp call it together.
template <int kLanes>
__device__ __forceinline__ KeptChunks kept_columns(const TeamRow<kLanes>& row, int first_column,
                                                   int second_column) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = TeamRow<kLanes>::lane(), place = lane % 8;
  const int column = (place < 4 ? first_column : second_column) + lane / 8 * 64;
  const PhiloxBlock bytes = dropout_bytes(
      row.dropout(), static_cast<std::uint32_t>(row.head()), static_cast<std::uint32_t>(row.row()),
      static_cast<std::uint32_t>(column / 64), static_cast<std::uint32_t>(place % 4));
  // A lane wants byte pair `place` of each call: bits 4 + place / 2 of bytes 2 * (place % 2) and
  // the next. Two calls share a word, the even one in the upper bits of its bytes; two words then
  // share one, for the partner at 2 wants the same bytes; and the partner at 4 does too.
  const std::uint32_t own = kept_bits(bytes, row.dropout().threshold) >> (place % 2 * 4);
  const std::uint32_t of_two = own | __shfl_xor_sync(kAll, own, 1);
  const unsigned bytes_of_two = (place & 2) == 0 ? 0x5410u : 0x1054u;
  const std::uint32_t of_four = __byte_perm(of_two, __shfl_xor_sync(kAll, of_two, 2),
                                            bytes_of_two + (place % 2 == 0 ? 0u : 0x2222u));
  const std::uint32_t others = __shfl_xor_sync(kAll, of_four, 4);
  const int shift = 3 - place / 2;
  return {{KeptColumns((place < 4 ? of_four : others) << shift),
           KeptColumns((place < 4 ? others : of_four) << shift)}};
}

/// Of this lane's chunks of a segment, four in a word. To be drawn while the row is being loaded.
template <int kChunks, bool kDrops>
class KeptRow {
 public:
  template <bool kIsWhole, int kLanes>
  __device__ __forceinline__ void draw(const TeamRow<kLanes>& row, int segment) {
    if constexpr (kDrops) {
      for (std::uint32_t& word : four_) word = 0;
#pragma unroll
      for (int c = 0; c < kChunks; c += 2) {
        const int first = row.template first_column<kChunks>(segment, c);
        const int second = row.template first_column<kChunks>(segment, c + 1);
        if (!kIsWhole && !__any_sync(0xffffffffu, row.reaches(first) || row.reaches(second))) {
          continue;
        }
        const KeptChunks kept = kept_columns(row, first, second);
        four_[c / 4] |= kept.of[0].bits() >> (c % 4) | kept.of[1].bits() >> (c % 4 + 1);
      }
    }
  }

  __device__ __forceinline__ KeptColumns of(int chunk) const {
    return KeptColumns(four_[chunk / 4] << (chunk % 4));
  }

 private:
  static_assert(kChunks % 4 == 0, "as many as a word holds");
  std::uint32_t four_[kDrops ? kChunks / 4 : 1];
};

}  // namespace sparkbench
