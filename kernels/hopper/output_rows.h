// Where a warp's 16 rows of an output go: to a tensor, or where its block has a part of its tiles
// (tile/sparse_list.h), to the workspace.
#pragma once

#include "kernels/hopper/swizzled_panels.h"
#include "kernels/machine/mma/m16n8k16.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/tile/sparse_list.h"

namespace sparkbench::hopper {

inline constexpr int kWarpRows = 16;  // of a wgmma, for each of its four warps

/// A tensor, and what parts store of it.
struct OutputViews {
  ChunkedView<Half> whole, parts;
};

/// Rows of a block of a sequence, or of a pattern's list.
template <class Config, class Machine>
class OutputRows {
 public:
  /// The warp's are from first_row on, of a block that begins at block_row. `head` is whose list it
  /// is.
  SPARK_DEVICE OutputRows(Machine& machine, const SparseLists& lists, int head, int block_row,
                          int first_row, int seqlen)
      : machine_(machine), lists_(lists), first_row_(first_row), seqlen_(seqlen) {
    if constexpr (Config::kIsSparse) {
      const int part = first_part_row<Config>(machine, lists, head);
      if (part != kNoPart) part_row_ = part + first_row - block_row;
      if (has_order<Config>(lists.order)) ordered_ = ordered_rows(machine, lists.order, first_row);
    }
  }

  SPARK_DEVICE bool is_owned(int row) const {
    if (has_order<Config>(lists_.order)) return ordered_.owns(row);
    return first_row_ + row < seqlen_;
  }
  SPARK_DEVICE bool is_part() const { return Config::kIsSparse && part_row_ != kNoPart; }
  /// Of the tensor, or of the parts' rows.
  SPARK_DEVICE int place(int row) const {
    if (is_part()) return part_row_ + row;
    if (has_order<Config>(lists_.order)) {
      return ordered_.token + lists_.order.template tokens_to<4>(row);
    }
    return first_row_ + row;
  }

  /// `chunks` of each row, from a tile of shared memory whose rows of this warp begin at of_warp and
  /// whose first chunk of them is first_chunk. Of it kChunks are the warp's.
  template <int kChunks, class Tile>
  SPARK_DEVICE void copy(const Tile& tile, int of_warp, int first_chunk, int chunks,
                         const OutputViews& views, int batch, int head) const {
#pragma unroll
    for (int i = 0; i < kWarpRows * kChunks / 32; ++i) {
      const int at = 32 * i + machine_.lane();
      const int row = at / kChunks, chunk = first_chunk + at % kChunks;
      if (chunk >= chunks || !is_owned(row)) continue;
      const ChunkedView<Half>& view = is_part() ? views.parts : views.whole;
      machine_.store_global(view.at(batch, place(row), head) + kChunkHalves * chunk,
                            machine_.template load_shared<Bits128>(tile.at(of_warp + row, chunk)));
    }
  }

 private:
  Machine& machine_;
  const SparseLists& lists_;
  const int first_row_, seqlen_;
  int part_row_ = kNoPart;
  OrderedRows ordered_{};
};

/// What a warp has of an accumulator, times `factor` of each of a lane's two rows, to its rows of a
/// tile, in fp16.
template <class Tile, class Machine, int kSteps>
SPARK_DEVICE void store_accumulator(
    Machine& machine, Tile& tile, int of_warp, int first_chunk, const float (&factor)[2],
    const m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kSteps]) {
  const int lane = machine.lane();
#pragma unroll
  for (int slot = 0; slot < 2; ++slot) {
    const int row = of_warp + m16n8k16::c_row(lane, 2 * slot);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const float* const pair = c[step].element + 2 * slot;
      machine.store_shared(&tile.at(row, first_chunk + step)->word[lane & 3],
                           machine.pack_halves(pair[0] * factor[slot], pair[1] * factor[slot]));
    }
  }
}

}  // namespace sparkbench::hopper
