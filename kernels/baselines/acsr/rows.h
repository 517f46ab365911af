// A mask as SPLAT's affine rows (ACSR), as the kernels of this folder read it: the same on a GPU
// and on the emulated machine. rows_of_mask.h makes it.
//
// Rows that see keys of one residue modulo the stride are a *class*, and *place* i of a class is
// the key residue + stride * i. So a row sees the places [first, end), whatever its stride, and a
// tile of rows of a class by places is dense where a tile of the matrix is not.
//
// A row's values are contiguous, in the order of places, from a multiple of 16 places to another:
// whole sectors of 32 bytes, each two chunks. At places that the row does not see, scores are -inf
// and probabilities 0.
#pragma once

#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"

namespace sparkbench::acsr {

/// The tiles of a block of threads, in rows and places of a class: the rows that it owns, the
/// places that it visits at a time.
inline constexpr int kBlockRows = 128, kTileKeys = 64;
inline constexpr int kChunkPlaces = 8;
/// A sector of 32 bytes, which memory writes whole: to write a part, it reads the rest first.
inline constexpr int kSectorChunks = 2, kSectorPlaces = kSectorChunks * kChunkPlaces;

struct alignas(16) AffineRow {
  int row;          // of the sequence
  int first, end;   // places; equal where it sees nothing
  int first_chunk;  // of its values

  SPARK_HD int begin_chunk() const { return first / kSectorPlaces * kSectorChunks; }
  SPARK_HD int end_chunk() const {
    return (end + kSectorPlaces - 1) / kSectorPlaces * kSectorChunks;
  }
  SPARK_HD int chunks() const { return first < end ? end_chunk() - begin_chunk() : 0; }
  /// Where chunk 0 of its places would be.
  SPARK_HD int origin() const { return first_chunk - begin_chunk(); }
};

/// The fields of an AffineRow that locate its values.
struct RowValues {
  int origin, begin_chunk, chunks;

  RowValues() = default;
  SPARK_HD explicit RowValues(const AffineRow& row)
      : origin(row.origin()), begin_chunk(row.begin_chunk()), chunks(row.chunks()) {}
  SPARK_HD bool has(int chunk) const {
    return static_cast<unsigned>(chunk - begin_chunk) < static_cast<unsigned>(chunks);
  }
};

/// Rows of one class, in order.
struct alignas(16) RowBlock {
  int first_row, rows;  // of its union's rows; without rows: of a union that has fewer blocks
  int residue, stride;
  int begin, end;  // places that some row sees, from a multiple of kTileKeys on
  int unused[2];
};

/// The same of gradients of keys, which go over rows.
inline constexpr int kBlockPlaces = 128, kTileRows = 64;

/// Places of one class, and those of its rows that see some of them.
struct alignas(16) KeyBlock {
  int first_place;  // a multiple of kBlockPlaces; with stride 0: of a union that has fewer blocks
  int residue, stride;
  int first_row, end_row;  // of its union's rows
  int unused[3];
};

}  // namespace sparkbench::acsr
