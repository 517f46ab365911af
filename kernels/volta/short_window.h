// Which masks have a forward kernel of their own ("/window" of instances.h).
#pragma once

#include <cstdint>

#include "kernels/mask/key_mask.h"

namespace sparkbench::volta {

/// Up to so many keys a row two short blocks an SM are faster than a long one, by the cycle model.
inline constexpr int kShortWindow = 1024;

/// Whether no row sees more, of a sequence that has more.
inline bool has_short_window(const KeyMask& mask) {
  const std::int64_t keys = std::int64_t{mask.end_offset} - mask.begin_offset;
  return mask.prefix <= 0 && keys <= kShortWindow && keys < mask.seqlen_k;
}

}  // namespace sparkbench::volta
