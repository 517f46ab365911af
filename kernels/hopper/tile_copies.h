// How tiles come to shared memory, and how a barrier tells that they are there. Three ways, with
// the same members: boxes of the tensor memory accelerator, which one warp asks for; copies of 16
// bytes by four warps, for rows that a pattern's order has at any places; and for packed sequences
// boxes of tiles that lie whole in a sequence, copies of those at its end, behind which are
// another's rows.
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/copy_rows.h"
#include "kernels/hopper/launch_params.h"

namespace sparkbench::hopper {

/// A tensor's rows from one on, of a head: both ways to say it.
struct TensorRows {
  const ChunkedView<const Half>& view;
  const TensorMap& map;
  int batch, first, head;
  int seqlen;  // rows behind it are zeros
};

template <class Tile>
inline constexpr int kTileBytes = sizeof(Tile);

template <class Machine>
class BoxCopies {
 public:
  /// Of the warps that load, the first asks for the boxes. Others may be there for what is drawn.
  SPARK_DEVICE BoxCopies(Machine& machine, int loader_warp)
      : machine_(machine), asks_(loader_warp == 0) {}

  /// `barrier` is told of what is copied until end().
  SPARK_DEVICE void begin(Mbarrier& barrier) { barrier_ = &barrier; }
  template <class Tile, class Apart>
  SPARK_DEVICE void copy(Tile& tile, const TensorRows& rows, const Apart& /*apart*/,
                         int /*chunks*/) {
    if (!asks_) return;
    machine_.expect_bytes(barrier_, kTileBytes<Tile>);
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel) {
#pragma unroll
      for (int row = 0; row < Tile::kRows; row += kBoxRows) {
        machine_.copy_box_async(&tile.chunk[panel][row][0], rows.map,
                                {panel * kBoxColumns, rows.first + row, rows.head, rows.batch},
                                barrier_);
      }
    }
  }
  /// 16 bytes each, that lie side by side.
  template <class T>
  SPARK_DEVICE void copy_bytes(T* shared, const T* global, int bytes) {
    if (!asks_) return;
    machine_.expect_bytes(barrier_, bytes);
    machine_.copy_bytes_async(shared, global, bytes, barrier_);
  }
  SPARK_DEVICE void end() { machine_.arrive_at_mbarrier(barrier_); }
  SPARK_DEVICE void flush() {}

 private:
  Machine& machine_;
  const bool asks_;
  Mbarrier* barrier_ = nullptr;
};

/// Copies that have been asked for tell their barrier when the next tile's have been, or at
/// flush(): so that a tile is on its way while the one before it is waited for.
template <class Machine>
class RowCopies {
 public:
  SPARK_DEVICE RowCopies(Machine& machine, int /*loader_warp*/)
      : machine_(machine), lane_(machine.thread() % kLanes) {}

  SPARK_DEVICE void begin(Mbarrier& barrier) { barrier_ = &barrier; }
  template <class Tile, class Apart>
  SPARK_DEVICE void copy(Tile& tile, const TensorRows& rows, const Apart& apart, int chunks) {
    copy_rows<kLanes>(machine_, tile, rows.view.at(rows.batch, rows.first, rows.head), apart,
                      rows.seqlen - rows.first, chunks, lane_);
  }
  template <class T>
  SPARK_DEVICE void copy_bytes(T* shared, const T* global, int bytes) {
    constexpr int kOfChunk = sizeof(Bits128) / sizeof(T);
    if (lane_ * static_cast<int>(sizeof(Bits128)) < bytes) {
      machine_.copy_async(shared + kOfChunk * lane_, global + kOfChunk * lane_, true);
    }
  }
  SPARK_DEVICE void end() {
    machine_.commit_copies();
    if (pending_ != nullptr) publish<1>();
    pending_ = barrier_;
  }
  /// To be called before anything is waited for that may need what is pending.
  SPARK_DEVICE void flush() {
    if (pending_ != nullptr) publish<0>();
    pending_ = nullptr;
  }

 private:
  static constexpr int kLanes = 32 * kWarpgroupWarps;

  template <int kBehind>
  SPARK_DEVICE void publish() {
    machine_.template wait_for_copies<kBehind>();
    machine_.fence_async_proxy();
    machine_.arrive_at_mbarrier(pending_);
  }

  Machine& machine_;
  const int lane_;
  Mbarrier *barrier_ = nullptr, *pending_ = nullptr;
};

/// A tile of rows at its sequence's end is waited for at once.
template <class Machine>
class PackedCopies {
 public:
  SPARK_DEVICE PackedCopies(Machine& machine, int loader_warp)
      : machine_(machine), boxes_(machine, loader_warp), rows_(machine, loader_warp) {}

  SPARK_DEVICE void begin(Mbarrier& barrier) { boxes_.begin(barrier); }
  template <class Tile, class Apart>
  SPARK_DEVICE void copy(Tile& tile, const TensorRows& rows, const Apart& apart, int chunks) {
    if (rows.first + Tile::kRows <= rows.seqlen) {
      boxes_.copy(tile, rows, apart, chunks);
    } else {
      rows_.copy(tile, rows, apart, chunks);
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
  SPARK_DEVICE void flush() {}

 private:
  Machine& machine_;
  BoxCopies<Machine> boxes_;
  RowCopies<Machine> rows_;
  bool has_rows_ = false;
};

/// Whether all tiles of a launch are boxes.
template <class Config, class Params>
SPARK_DEVICE bool copies_boxes(const Params& params) {
  return !Config::kIsPacked && !has_order<Config>(params.sparse.order);
}
/// Warps that load, each of which arrives once at a barrier for a tile.
template <class Config, class Params>
SPARK_DEVICE int loader_warps(const Params& params) {
  return copies_boxes<Config>(params) && !Config::kLoaderDraws ? 1 : kWarpgroupWarps;
}

/// What the warps that load do: run(copies), with one of the three.
template <class Config, class Machine, class Params, class Run>
SPARK_DEVICE void with_copies(Machine& machine, const Params& params, Run run) {
  const int loader_warp = machine.uniform(machine.warp()) - Config::kConsumerWarps;
  if (loader_warp >= loader_warps<Config>(params)) return;
  if constexpr (Config::kIsPacked) {
    run(PackedCopies<Machine>(machine, loader_warp));
  } else if (copies_boxes<Config>(params)) {
    run(BoxCopies<Machine>(machine, loader_warp));
  } else {
    run(RowCopies<Machine>(machine, loader_warp));
  }
}

/// Where a row's tensor has its rows: those of a pattern as they lie in its order.
template <class Config>
SPARK_DEVICE auto rows_apart(const SparseLists& lists, const ChunkedView<const Half>& tensor) {
  if constexpr (Config::kIsSparse) {
    return OrderedApart{lists.order, tensor.row_stride()};
  } else {
    return RowsApart{tensor.row_stride()};
  }
}

/// 64 rows of a block, from `row` on: of a pattern with an order those that its list says.
template <class Config, class Copies, class Machine, class Tile>
SPARK_DEVICE void copy_block_rows(Copies& copies, Machine& machine, Tile& tile, TensorRows rows,
                                  const ForwardParams& params) {
  if (has_order<Config>(params.sparse.order)) {
    const OrderedRows ordered = ordered_rows(machine, params.sparse.order, rows.first);
    rows.first = ordered.token;
    rows.seqlen = ordered.owned == 0 ? ordered.token : ordered.token + Tile::kRows;
  }
  copies.copy(tile, rows, rows_apart<Config>(params.sparse, rows.view), params.head_chunks);
}

}  // namespace sparkbench::hopper
