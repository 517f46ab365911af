// The warps that load K and V of a block, a ring of stages ahead of the warpgroups that multiply
// them. Copies are cp.async, since rows may lie at any stride, and in any order of a pattern.
#pragma once

#include "kernels/hopper/copy_rows.h"
#include "kernels/hopper/forward_config.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/walked_tile.h"

namespace sparkbench::hopper {

/// How far a tile's rows are apart: those of a pattern as they lie in its order.
template <class Config>
SPARK_DEVICE auto keys_apart(const ForwardParams& params, const ChunkedView<const Half>& tensor) {
  if constexpr (Config::kIsSparse) {
    return OrderedApart{params.sparse.order, tensor.row_stride()};
  } else {
    return RowsApart{tensor.row_stride()};
  }
}

template <class Config, class Machine>
class KeyLoader {
 public:
  SPARK_DEVICE KeyLoader(Machine& machine, const ForwardParams& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        block_(locate_block<Config>(machine, params)),
        keys_(keys_of_block<Config>(machine, params)),
        lane_(machine.thread() - 32 * Config::kConsumerWarps) {}

  /// All of the block's tiles, one after the other.
  SPARK_DEVICE void run() {
    StageRing<Config> ring(tile_count<Config>(keys_));
    machine_.barrier_of_warps();  // with Q
    for (int place = first_tile<Config::kBlockN>(keys_); !ring.is_done(); ring.advance()) {
      if (ring.was_full()) ring.wait_until_empty(machine_);
      load(place, tiles_.stage[ring.stage()]);
      if constexpr (kBehind == 0) {
        publish<0>(ring.stage());
      } else if (!ring.is_first()) {
        publish<kBehind>(ring.previous_stage());
      }
      place += Config::kBlockN;
    }
    if (kBehind != 0 && !ring.is_first()) publish<0>(ring.previous_stage());
  }

 private:
  /// Tiles that are on their way while the one before them is waited for. Of two stages none: the
  /// next tile has no place before the warpgroups have had this one.
  static constexpr int kBehind = Config::kStages > 2 ? 1 : 0;

  SPARK_DEVICE void load(int place, typename Config::Tiles::Stage& stage) {
    const int key = first_key<Config>(machine_, params_, place);
    const int rows = params_.mask.seqlen_k - key, head = block_.key_head(params_);
    const auto load_tile = [&](const ChunkedView<const Half>& tensor, auto& tile) {
      copy_rows<32 * Config::kLoaderWarps>(machine_, tile, tensor.at(block_.batch, key, head),
                                           keys_apart<Config>(params_, tensor), rows,
                                           params_.head_chunks, lane_);
    };
    load_tile(params_.k, stage.k);
    load_tile(params_.v, stage.v);
    machine_.commit_copies();
  }

  /// Tells the warpgroups of a stage once its copies are there: all but those of so many tiles.
  template <int kTiles>
  SPARK_DEVICE void publish(int stage) {
    machine_.template wait_for_copies<kTiles>();
    machine_.fence_async_proxy();
#pragma unroll
    for (int warpgroup = 0; warpgroup < Config::kWarpgroups; ++warpgroup) {
      machine_.arrive_at_barrier(full_barrier<Config>(stage, warpgroup), kFullWarps<Config>);
    }
  }

  Machine& machine_;
  const ForwardParams& params_;
  typename Config::Tiles& tiles_;
  const ForwardBlock block_;
  const Range keys_;
  const int lane_;
};

}  // namespace sparkbench::hopper
