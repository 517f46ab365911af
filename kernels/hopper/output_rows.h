// Where a warp's 16 rows of an output go: to a tensor, or, if its block is a split
// (tile/sparse_list.h), to the workspace.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/tile/accumulator.h"
#include "kernels/hopper/tile/swizzled_panels.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

inline constexpr int kWarpRows = 16;  // of a wgmma, for each of its four warps

/// A tensor, and the workspace of its splits.
struct OutputViews {
  ChunkedView<Bits16> whole, parts;
};

/// Rows of a block of a sequence, or of a pattern's list.
template <class Config, class Machine>
class OutputRows {
 public:
  /// The warp's rows are from first_row on, in a block that begins at block_row. `head` is the head
  /// of the list.
  SPARK_DEVICE OutputRows(Machine& machine, const SparseLists& lists, int head, int block_row,
                          int first_row, int seqlen)
      : machine_(machine), first_row_(first_row), seqlen_(seqlen) {
    if constexpr (kIsSparse<Config>) {
      const int part = WalkOf<Config>::part_row(machine, lists, head);
      if (part != kNoPart) part_row_ = part + first_row - block_row;
    }
  }

  SPARK_DEVICE bool is_owned(int row) const {
    return first_row_ + row < SPARK_PLANTED(kHopperLastRowNotStored, seqlen_, seqlen_ - 1);
  }
  SPARK_DEVICE bool is_part() const { return kIsSparse<Config> && part_row_ != kNoPart; }
  /// The row's index in the tensor, or among the splits' rows.
  SPARK_DEVICE int place(int row) const {
    if (is_part()) return part_row_ + row;
    return first_row_ + row;
  }

  /// Copies `chunks` chunks of each row, from a tile of shared memory in which this warp's rows
  /// begin at of_warp and its chunks at first_chunk. kChunks of the tile's chunks are the warp's.
  template <int kChunks, class Tile>
  SPARK_DEVICE void copy(const Tile& tile, int of_warp, int first_chunk, int chunks,
                         const OutputViews& views, int batch, int head) const {
    constexpr int kRest = kChunks % kPanelChunks, kWhole = kChunks - kRest;
    if constexpr (kWhole > 0) {
      constexpr bool kIsPower = (kWhole & (kWhole - 1)) == 0;
      constexpr int kLanes = kIsPower ? kWhole : kPanelChunks;
#pragma unroll
      for (int chunk = 0; chunk < kWhole; chunk += kLanes) {
        copy_column<kLanes>(tile, of_warp, first_chunk + chunk, chunks, views, batch, head);
      }
    }
    if constexpr (kRest > 0) {
      copy_column<kRest>(tile, of_warp, first_chunk + kWhole, chunks, views, batch, head);
    }
  }

 private:
  /// kLanes chunks of each row, from first_chunk on.
  template <int kLanes, class Tile>
  SPARK_DEVICE void copy_column(const Tile& tile, int of_warp, int first_chunk, int chunks,
                                const OutputViews& views, int batch, int head) const {
    constexpr int kRows = 32 / kLanes;
    const int chunk = first_chunk + machine_.lane() % kLanes;
#pragma unroll
    for (int i = 0; i < kWarpRows / kRows; ++i) {
      const int row = spread_row(kRows * i + machine_.lane() / kLanes, kLanes);
      if (chunk >= chunks || !is_owned(row)) continue;
      const ChunkedView<Bits16>& view = is_part() ? views.parts : views.whole;
      machine_.store_global(view.at(batch, place(row), head) + kChunkHalves * chunk,
                            machine_.template load_shared<Bits128>(tile.at(of_warp + row, chunk)));
    }
  }

  Machine& machine_;
  const int first_row_, seqlen_;
  int part_row_ = kNoPart;
};

}  // namespace sparkbench::hopper
