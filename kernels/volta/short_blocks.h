// Which problems have a forward kernel of shorter blocks ("/short" of instances.h): two of 128 rows
// an SM, where the others have one of 256.
#pragma once

#include <cstdint>

#include "kernels/ceil_divide.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::volta {

inline constexpr int kShortBlock = 128;  // rows
/// By the cycle model short blocks are faster up to so many keys a row of a window, since one
/// begins and ends while the other computes,
inline constexpr int kShortWindow = 1024;
/// and up to so many blocks of rows where their number is odd: half of the last long one would be
/// empty, which costs more than the 3 % that a tile of two short blocks takes longer.
inline constexpr int kMostOddBlocks = 15;

/// Whether no row sees more keys than kShortWindow, of a sequence that has more.
inline bool has_short_window(const KeyMask& mask) {
  const std::int64_t keys = std::int64_t{mask.end_offset} - mask.begin_offset;
  return mask.prefix <= 0 && keys <= kShortWindow && keys < mask.seqlen_k;
}

inline bool wants_short_blocks(const KeyMask& mask) {
  const int blocks = ceil_divide(mask.seqlen_q, kShortBlock);
  return has_short_window(mask) || (blocks % 2 == 1 && blocks <= kMostOddBlocks);
}

}  // namespace sparkbench::volta
