// The dropout mask: a pure function of (seed, offset, batch, head, row, column), the one definition
// that fused kernels, unfused references, forward and backward share.
//
// Every element has a random byte and is kept when its byte is at least `threshold`, so p is
// applied in 256ths. Bytes lie as bit planes: a *block* is 32 elements of one head, and bit b of
// word k of its eight words is bit k of the byte of the block's element b. So one LOP3 a plane
// compares 32 bytes with the threshold, and a lane holds a register of one bit an element.
//
// A block is what one lane owns of eight C fragments of mma.m16n8k16 side by side: the columns 2j
// and 2j + 1 of the eight 8-column groups of 64, of rows r and r + 8 of 16.
//   block   = (row without bit 3, column without bits 0, 3, 4 and 5)
//   bit     = 16 * bit 3 of row + 8 * bit 0 of column + bits 5 to 3 of column
//   counter = (block's row, (batch * heads + head) ^ upper half of the offset,
//              block's column + (k >> 2), lower half of the offset), word k & 3
// A pattern that runs as strided passes has other sequences than batch * heads + head, and rows and
// columns of its own; so has one in a grid's token order (kernels/mask/dropout_views.h). The offset
// is one call's: 0, or a number that distinguishes calls of one seed. Random offsets of 64 bits, or
// counts below 2^32, use no counter twice. Where the tensor core is m8n8k4, two lanes have rows r
// and r + 8: each draws half of the blocks of both, and they exchange a register
// (kernels/tile/dropout.h).
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/base/philox.h"

namespace sparkbench {

/// The factor of kept values, where p = 0.17 asks for 43.52 of 256ths and 44 are applied.
enum class DropoutScale {
  kApplied,  // 1 / (1 - applied p): sums keep their mean
  kAsked,    // 1 / (1 - p): FlashAttention's convention
};

/// The fewest rounds that pass BigCrush (kernels/base/philox.h).
inline constexpr int kDropoutRounds = 7;

/// Bits of an element's byte.
inline constexpr int kDropoutPlanes = 8;

/// The offset into the random stream, 64 bits.
struct alignas(8) DropoutOffset {
  std::uint32_t low = 0, high = 0;
};

/// A kernel's parameters of dropout: the threshold, the scale, the Philox keys and the offset.
struct Dropout {
  std::uint32_t threshold;              // elements whose byte is below it are dropped; 0 drops none
  std::uint32_t plane[kDropoutPlanes];  // all ones where the threshold has that bit, else 0
  float keep_scale;                     // the factor of kept values
  PhiloxRoundKeys<kDropoutRounds> keys;
  DropoutOffset offset;

  /// The probability that is really applied, threshold / 256.
  SPARK_HD float applied_p() const { return static_cast<float>(threshold) * (1.0f / 256.0f); }
};

/// `p` in [0, 1), rounded to the nearest 256th and at most 255/256, so something is always kept.
/// Where it rounds to 0, nothing is dropped and nothing scaled.
SPARK_HD Dropout make_dropout(float p, std::uint64_t seed,
                              DropoutScale scale = DropoutScale::kApplied) {
  // p is in [0, 1), where truncation after adding a half rounds as lround does.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const auto rounded = static_cast<std::uint32_t>(p * 256.0f + 0.5f);
  Dropout dropout{};
  dropout.threshold = rounded < 255u ? rounded : 255u;
  for (int k = 0; k < kDropoutPlanes; ++k) {
    dropout.plane[k] = 0u - ((dropout.threshold >> k) & 1u);
  }
  dropout.keep_scale = scale == DropoutScale::kAsked && dropout.threshold != 0u
                           ? 1.0f / (1.0f - p)
                           : 256.0f / static_cast<float>(256u - dropout.threshold);
  dropout.keys = philox_round_keys<kDropoutRounds>(philox_key(seed));
  return dropout;
}

/// The mask of sequences `first` | i, where it is asked for i; `first` has no bit that an i has. In
/// the first round the counter's second word meets only this key, so that a kernel needs no
/// instruction for it.
SPARK_HD Dropout of_sequences(Dropout dropout, std::uint32_t first) {
  dropout.keys.round[0].lo ^= first;
  return dropout;
}

/// The block of a head's dropout mask that contains an element, by its first row and column.
struct DropoutBlock {
  std::uint32_t row, column;
};
SPARK_HD DropoutBlock dropout_block(std::uint32_t row, std::uint32_t column) {
  return {row & ~8u, column & ~0x39u};
}
/// Which bit of the block's planes is the element's.
SPARK_HD std::uint32_t dropout_bit(std::uint32_t row, std::uint32_t column) {
  return 16u * (row >> 3 & 1u) + 8u * (column & 1u) + (column >> 3 & 7u);
}

/// Planes 0 to 3 of a block, or 4 to 7.
SPARK_HD PhiloxBlock dropout_planes(const Dropout& dropout, const DropoutOffset& offset,
                                    std::uint32_t batch_head, const DropoutBlock& block,
                                    std::uint32_t half) {
  return philox4x32<kDropoutRounds>(
      {{block.row, batch_head ^ offset.high, block.column | half, offset.low}}, dropout.keys);
}

/// Which bytes are below the threshold, by the four planes from first_plane on, and by the earlier
/// planes, for which `below` says so.
SPARK_HD std::uint32_t bytes_below(const Dropout& dropout, const PhiloxBlock& planes,
                                   int first_plane, std::uint32_t below) {
  for (int k = 0; k < 4; ++k) {
    const std::uint32_t random = planes.word[k], threshold = dropout.plane[first_plane + k];
    below = (~random & threshold) | (below & ~(random ^ threshold));
  }
  return below;
}

/// Which elements of a block are dropped, a bit each.
SPARK_HD std::uint32_t dropped_of_block(const Dropout& dropout, std::uint32_t batch_head,
                                        const DropoutBlock& block) {
  const PhiloxBlock low = dropout_planes(dropout, dropout.offset, batch_head, block, 0);
  const PhiloxBlock high = dropout_planes(dropout, dropout.offset, batch_head, block, 1);
  return bytes_below(dropout, high, 4, bytes_below(dropout, low, 0, 0u));
}

/// True when element (row, column) of head `batch_head` = batch * heads + head is kept.
SPARK_HD bool dropout_keeps(const Dropout& dropout, std::uint32_t batch_head, std::uint32_t row,
                            std::uint32_t column) {
  const std::uint32_t dropped = dropped_of_block(dropout, batch_head, dropout_block(row, column));
  return (dropped >> dropout_bit(row, column) & 1u) == 0u;
}

}  // namespace sparkbench
