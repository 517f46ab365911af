// Which problems have kernels of shorter blocks ("/short" of instances.h), more of them per SM:
// forward at 128 columns two of 128 rows instead of one of 256, and at 64 four of 64 instead of two
// of 128; in a deterministic backward pass at 64 columns two of 64 keys instead of one of 128, and
// in the dQ kernel four of 64 rows instead of two of 128.
#pragma once

#include <cstdint>

#include "kernels/base/accumulator.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/mask/key_mask.h"
#include "kernels/problem/attention.h"

namespace sparkbench::volta {

/// By the cycle model short blocks are faster up to so many keys a row of a window, since one
/// begins and ends while others compute, and since fewer of their rows see none of a tile,
constexpr int short_forward_window(int columns, Accumulator accumulator) {
  return columns == 64 && accumulator == Accumulator::kFp32 ? 1024 : 2048;
}
inline constexpr int kShortBackwardWindow = 2048;
/// and at 128 columns up to so many keys of a sequence of which a mask hides some: of the tiles
/// that it cuts the warps of a short block compute as much each (kSpreadsRows of forward/config.h),
inline constexpr int kMostCutKeys = 512;
/// and up to so many blocks of 128 rows where their number is odd: half of the last long one would
/// be empty, which costs more than the 3 % that a tile of two short blocks takes longer.
inline constexpr int kShortBlock = 128;  // rows
inline constexpr int kMostOddBlocks = 15;

/// Whether no row sees more keys than `window`, of a sequence that has more.
inline bool has_short_window(int window, const KeyMask& mask) {
  const std::int64_t keys = std::int64_t{mask.end_offset} - mask.begin_offset;
  return mask.prefix <= 0 && keys <= window && keys < mask.seqlen_k;
}

/// Whether some row does not see some key.
inline bool hides_some(const KeyMask& mask) {
  return !mask.all_see({0, mask.seqlen_q}, {0, mask.seqlen_k});
}

/// Whether blocks serve a problem, of a kernel whose tiles have so many columns: long ones, where
/// `window` is 0, or short ones for windows of at most so many keys a row.
inline bool wants_blocks(int window, int columns, const Problem& problem) {
  if (window == 0) return true;
  const KeyMask mask = problem.key_mask();
  if (has_short_window(window, mask)) return true;
  if (columns == 128 && mask.seqlen_k <= kMostCutKeys && hides_some(mask)) return true;
  const int blocks = ceil_divide(mask.seqlen_q, kShortBlock);
  return columns == 128 && blocks % 2 == 1 && blocks <= kMostOddBlocks;
}

}  // namespace sparkbench::volta
