// Loops over parts of a tile whose bounds are constants, as indices of registers must be.
#pragma once

#include "kernels/base/host_device.h"

namespace sparkbench::hopper {

/// [kBegin, kEnd) of a tile's rows or columns.
template <int kFirst, int kLast>
struct Chunk {
  static constexpr int kBegin = kFirst, kEnd = kLast;
};

/// Calls each(Chunk{}) for the chunks of kSize of [kBegin, kEnd), in rising order.
template <int kSize, int kEnd, int kBegin = 0, class Each>
SPARK_DEVICE void for_each_chunk(const Each& each) {
  each(Chunk<kBegin, kBegin + kSize>{});
  if constexpr (kBegin + kSize < kEnd) for_each_chunk<kSize, kEnd, kBegin + kSize>(each);
}

}  // namespace sparkbench::hopper
