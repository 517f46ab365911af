// Grouped queries: heads_k divides heads, and query head h reads key head h / (heads / heads_k), as
// in FlashAttention-2. With one key head this is multi-query attention.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace sparkbench {

/// The query heads that share a key head, as kernels take them: without a division.
struct HeadGroups {
  int size;               // query heads of a key head
  std::uint32_t inverse;  // floor((2^32 - 1) / size)

  /// `head` must be below 65536. `inverse` falls short of 2^32 / size by at most 1, so the quotient
  /// falls short of (head + 1) / size by less than 1 / size: too little to cross an integer.
  SPARK_HD int key_head(int head) const {
    const std::uint32_t next = static_cast<std::uint32_t>(head) + 1;
    return static_cast<int>((std::uint64_t{next} * inverse) >> 32);
  }
};

/// `heads_k` divides `heads`.
SPARK_HD HeadGroups make_head_groups(int heads, int heads_k) {
  const int size = heads / heads_k;
  return {size, 0xffffffffu / static_cast<std::uint32_t>(size)};
}

}  // namespace sparkbench
