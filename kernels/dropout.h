// The dropout mask: a pure function of (seed, batch, head, row, column), the one definition that
// fused kernels, unfused references, forward and backward share.
//
// One Philox call yields 16 bytes, a byte an element. The 16 elements of a call are chosen so that
// one lane owns them all, in every tensor-core fragment: the columns 2j, 2j+1 of the eight 8-column
// groups of 64 consecutive columns of one row.
//   counter = (row, column >> 6, (column >> 1) & 3, batch * heads + head)
//   byte    = 2 * ((column >> 3) & 7) + (column & 1)
// An element is kept when its byte is at least `threshold`, so p is applied in 256ths.
#pragma once

#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/philox.h"

namespace sparkbench {

/// The fewest rounds that pass BigCrush (kernels/philox.h).
inline constexpr int kDropoutRounds = 7;

/// Dropout as a kernel takes it: no probability, only the integer threshold and
/// the keys.
struct Dropout {
  std::uint32_t threshold;  // elements whose byte is below it are dropped; 0 drops none
  PhiloxRoundKeys<kDropoutRounds> keys;

  /// The probability that is really applied, threshold / 256.
  SPARK_HD float applied_p() const { return static_cast<float>(threshold) * (1.0f / 256.0f); }
  /// What kept values are multiplied by, 1 / (1 - applied_p).
  SPARK_HD float keep_scale() const { return 256.0f / static_cast<float>(256u - threshold); }
};

/// `p` in [0, 1), rounded to the nearest 256th and at most 255/256, so something is always kept.
SPARK_HD Dropout make_dropout(float p, std::uint64_t seed) {
  // p is in [0, 1), where truncation after adding a half rounds as lround does.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const auto rounded = static_cast<std::uint32_t>(p * 256.0f + 0.5f);
  return {rounded < 255u ? rounded : 255u, philox_round_keys<kDropoutRounds>(philox_key(seed))};
}

/// The random bytes of one 64-column group's columns {8i + 2*pair, 8i + 2*pair + 1}, i = 0..7.
SPARK_HD PhiloxBlock dropout_bytes(const Dropout& dropout, std::uint32_t batch_head,
                                   std::uint32_t row, std::uint32_t group, std::uint32_t pair) {
  return philox4x32<kDropoutRounds>({{row, group, pair, batch_head}}, dropout.keys);
}

/// The byte of `block` that decides column `column` of the group it was drawn for.
SPARK_HD std::uint32_t dropout_byte(const PhiloxBlock& block, std::uint32_t column) {
  const std::uint32_t byte = 2u * ((column >> 3) & 7u) + (column & 1u);
  return (block.word[byte >> 2] >> (8u * (byte & 3u))) & 0xffu;
}

/// True when element (row, column) of head `batch_head` = batch * heads + head is kept.
SPARK_HD bool dropout_keeps(const Dropout& dropout, std::uint32_t batch_head, std::uint32_t row,
                            std::uint32_t column) {
  const PhiloxBlock block =
      dropout_bytes(dropout, batch_head, row, column >> 6, (column >> 1) & 3u);
  return dropout_byte(block, column) >= dropout.threshold;
}

}  // namespace sparkbench
