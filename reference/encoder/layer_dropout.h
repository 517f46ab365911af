// Where a layer applies dropout outside of its softmax, on host and device.
#pragma once

#include <cstdint>

#include "kernels/problem/dropout.h"

namespace sparkbench {

/// Before the first residual, and before the second.
enum class DropoutSite : std::uint32_t { kFirst, kSecond };

/// Bit i: whether column `column` + i of the row, [tokens, hidden], is dropped; column is a
/// multiple of 32. The bytes come from the attention's generator (kernels/problem/dropout.h). Its
/// heads use other counters, which the offset keeps distinct.
SPARK_HD std::uint32_t dropped_columns(Dropout dropout, DropoutSite site, std::uint32_t row,
                                       std::uint32_t column) {
  constexpr std::uint32_t kOfLayers = 0x4c415945u;
  dropout.offset.low += kOfLayers + static_cast<std::uint32_t>(site);
  return dropped_of_block(dropout, 0, {row, column});
}

SPARK_HD bool layer_keeps(const Dropout& dropout, DropoutSite site, std::uint32_t row,
                          std::uint32_t column) {
  return (dropped_columns(dropout, site, row, column & ~31u) >> (column & 31u) & 1u) == 0u;
}

}  // namespace sparkbench
