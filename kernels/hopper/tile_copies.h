// How tiles are copied to shared memory, and how a barrier tells that they have arrived. Two ways
// with the same members: TMA boxes, which one warp starts; and for varlen, boxes for tiles that are
// wholly in a sequence, and copies of 16 bytes by four warps for tiles at its end, which another
// sequence's rows follow.
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/copy_rows.h"
#include "kernels/hopper/launch_params.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

/// A head's rows in a tensor, from `first` on. Those past `end` are zeros.
struct HeadRows {
  int batch, head, first, end;

  SPARK_DEVICE HeadRows from(int row) const { return {batch, head, first + row, end}; }
};

template <class Tile>
inline constexpr int kTileBytes = sizeof(Tile);

template <class Machine>
class BoxCopies {
 public:
  /// The first producer warp starts the boxes. Others may exist to draw dropout.
  SPARK_DEVICE BoxCopies(Machine& machine, int loader_warp)
      : machine_(machine), asks_(loader_warp == 0) {}

  /// `barrier` tracks what is copied until end().
  SPARK_DEVICE void begin(Mbarrier& barrier) { barrier_ = &barrier; }
  template <class Tile>
  SPARK_DEVICE void copy(Tile& tile, const ChunkedView<const Bits16>& /*view*/,
                         const TensorMap& map, const HeadRows& rows, int /*chunks*/) {
    if (!asks_) return;
    machine_.expect_bytes(barrier_, kTileBytes<Tile>);
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel) {
#pragma unroll
      for (int row = 0; row < Tile::kRows; row += kBoxRows) {
        machine_.copy_box_async(&tile.chunk[panel][row][0], map,
                                {panel * kBoxColumns, rows.first + row, rows.head, rows.batch},
                                barrier_);
      }
    }
  }
  /// Copies contiguous bytes, a multiple of 16.
  template <class T>
  SPARK_DEVICE void copy_bytes(T* shared, const T* global, int bytes) {
    if (!asks_) return;
    machine_.expect_bytes(barrier_, bytes);
    machine_.copy_bytes_async(shared, global, bytes, barrier_);
  }
  SPARK_DEVICE void end() { machine_.arrive_at_mbarrier(barrier_); }

 private:
  Machine& machine_;
  const bool asks_;
  Mbarrier* barrier_ = nullptr;
};

/// Waits at once for a tile of rows at its sequence's end.
template <class Machine>
class PackedCopies {
 public:
  SPARK_DEVICE PackedCopies(Machine& machine, int loader_warp)
      : machine_(machine), boxes_(machine, loader_warp), lane_(machine.thread() % kLanes) {}

  SPARK_DEVICE void begin(Mbarrier& barrier) { boxes_.begin(barrier); }
  template <class Tile>
  SPARK_DEVICE void copy(Tile& tile, const ChunkedView<const Bits16>& view, const TensorMap& map,
                         const HeadRows& rows, int chunks) {
    if (rows.first + Tile::kRows <= rows.end) {
      boxes_.copy(tile, view, map, rows, chunks);
    } else {
      copy_rows<kLanes>(machine_, tile, view.at(rows.batch, rows.first, rows.head),
                        view.row_stride(), rows.end - rows.first, chunks, lane_);
      has_rows_ = true;
    }
  }
  template <class T>
  SPARK_DEVICE void copy_bytes(T* shared, const T* global, int bytes) {
    boxes_.copy_bytes(shared, global, bytes);
  }
  SPARK_DEVICE void end() {
    if (has_rows_) {
      machine_.commit_copies();
      machine_.template wait_for_copies<0>();
      machine_.fence_async_proxy();
      has_rows_ = false;
    }
    boxes_.end();
  }

 private:
  static constexpr int kLanes = 32 * kWarpgroupWarps;

  Machine& machine_;
  BoxCopies<Machine> boxes_;
  const int lane_;
  bool has_rows_ = false;
};

/// Producer warps, each of which arrives once at a barrier for a tile.
template <class Config>
inline constexpr int kLoaderWarps = kIsVarlen<Config> || Config::kLoaderDraws ? kWarpgroupWarps : 1;

}  // namespace sparkbench::hopper
