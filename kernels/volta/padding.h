// A head_dim below that of its tiles. Columns that the tensors lack are zeros in shared memory, so
// that products need not know of them, and are neither loaded nor stored. A configuration whose
// kIsPadded is false has the code of a kernel that knows no other head_dim.
#pragma once

#include "kernels/base/host_device.h"

namespace sparkbench::volta {

/// How many of the `rows` existing rows a lane copies a part of to a tile of `Staged` rows: none if
/// the lane's chunk of them is past the tensors' columns.
template <class Config, class Staged, class Machine, class Params>
SPARK_DEVICE int copied_rows(Machine& machine, const Params& params, int rows) {
  if constexpr (Config::kIsPadded && Staged::kParts == 1) {
    return Staged::column_chunk(machine) < params.head_chunks ? rows : 0;
  } else {
    return rows;
  }
}

/// Where a lane copies several chunks of a row: whether there is the last. There are the others.
template <class Config, class Staged, class Machine, class Params>
SPARK_DEVICE bool copies_last(Machine& machine, const Params& params) {
  if constexpr (Config::kIsPadded && Staged::kParts > 1) {
    static_assert(Config::kLeastHeadDim > Config::kHeadDim - 8 * 32 / Staged::kRowsAtOnce,
                  "the last ones alone may lack");
    return Staged::last_column_chunk(machine) < params.head_chunks;
  } else {
    return true;
  }
}

/// The chunks that tensors have of a tile's rows, kTileChunks of the tensors' from `first_chunk`
/// on: at least so many, or fewer.
template <class Config, int kTileChunks, class Params>
SPARK_DEVICE int written_chunks(const Params& params, int first_chunk) {
  return Config::kIsPadded ? params.head_chunks - first_chunk : kTileChunks;
}

}  // namespace sparkbench::volta
