// What the loaders share: how a ring of stages is filled, and where a tile's rows are.
#pragma once

#include "kernels/hopper/copy_rows.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/tile/sparse_list.h"

namespace sparkbench::hopper {

/// How far a tile's rows are apart: those of a pattern as they lie in its order.
template <class Config>
SPARK_DEVICE auto rows_apart(const SparseLists& lists, const ChunkedView<const Half>& tensor) {
  if constexpr (Config::kIsSparse) {
    return OrderedApart{lists.order, tensor.row_stride()};
  } else {
    return RowsApart{tensor.row_stride()};
  }
}

/// Tells the warpgroups of a stage once its copies are there: all but those of so many tiles.
template <class Config, int kTiles, class Machine>
SPARK_DEVICE void publish(Machine& machine, int stage) {
  machine.template wait_for_copies<kTiles>();
  machine.fence_async_proxy();
#pragma unroll
  for (int warpgroup = 0; warpgroup < Config::kWarpgroups; ++warpgroup) {
    machine.arrive_at_barrier(full_barrier<Config>(stage, warpgroup), kFullWarps<Config>);
  }
}

/// All tiles of a ring, one after the other: load(stage) asks for the next one's copies and commits
/// them.
template <class Config, class Machine, class Load>
SPARK_DEVICE void fill_stages(Machine& machine, StageRing<Config> ring, Load load) {
  // Tiles that are on their way while the one before them is waited for. Of two stages none: the
  // next tile has no place before the warpgroups have had this one.
  constexpr int kBehind = Config::kStages > 2 ? 1 : 0;
  for (; !ring.is_done(); ring.advance()) {
    if (ring.was_full()) ring.wait_until_empty(machine);
    load(ring.stage());
    if constexpr (kBehind == 0) {
      publish<Config, 0>(machine, ring.stage());
    } else if (!ring.is_first()) {
      publish<Config, kBehind>(machine, ring.previous_stage());
    }
  }
  if (kBehind != 0 && !ring.is_first()) publish<Config, 0>(machine, ring.previous_stage());
}

}  // namespace sparkbench::hopper
