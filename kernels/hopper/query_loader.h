// The warps that load Q, dO and the statistics of queries for a block of keys, and draw dropout, a
// ring of stages ahead of the warpgroups that multiply them.
#pragma once

#include "kernels/hopper/copy_rows.h"
#include "kernels/hopper/query_walk.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/tile/dropout.h"

namespace sparkbench::hopper {

template <class Config, class Machine>
class QueryLoader {
 public:
  SPARK_DEVICE QueryLoader(Machine& machine, const BackwardParams& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        block_(locate_keys<Config>(machine, params)),
        lane_(machine.thread() - 32 * Config::kConsumerWarps) {}

  SPARK_DEVICE void run() {
    QueryWalk<Config, Machine> walk(machine_, params_, block_);
    StageRing<Config> ring(walk.tiles());
    machine_.barrier_of_warps();  // with K and V
    for (; !ring.is_done(); ring.advance()) {
      if (ring.was_full()) ring.wait_until_empty(machine_);
      load(walk, tiles_.stage[ring.stage()]);
      if constexpr (kBehind == 0) {
        publish<0>(ring.stage());
      } else if (!ring.is_first()) {
        publish<kBehind>(ring.previous_stage());
      }
      walk.advance();
    }
    if (kBehind != 0 && !ring.is_first()) publish<0>(ring.previous_stage());
  }

 private:
  static constexpr int kBehind = Config::kStages > 2 ? 1 : 0;  // as KeyLoader's

  SPARK_DEVICE auto queries_apart(const ChunkedView<const Half>& tensor) {
    if constexpr (Config::kIsSparse) {
      return OrderedApart{params_.sparse.order, tensor.row_stride()};
    } else {
      return RowsApart{tensor.row_stride()};
    }
  }

  SPARK_DEVICE void load(const QueryWalk<Config, Machine>& walk,
                         typename Config::Tiles::Stage& stage) {
    const QueryTileAt at = query_tile<Config>(machine_, params_, walk.place());
    const auto load_tile = [&](const ChunkedView<const Half>& tensor, auto& tile) {
      copy_rows<32 * Config::kLoaderWarps>(machine_, tile,
                                           tensor.at(block_.batch, at.token, walk.head()),
                                           queries_apart(tensor),
                                           params_.mask.seqlen_q - at.token, params_.head_chunks,
                                           lane_);
    };
    load_tile(params_.q, stage.q);
    load_tile(params_.d_o, stage.d_o);
    constexpr int kOfChunk = sizeof(Bits128) / sizeof(RowStatistics);
    if (lane_ < Config::kStep / kOfChunk) {
      machine_.copy_async(
          &stage.statistics[kOfChunk * lane_],
          params_.statistics_of(walk.batch_head(), at.position + kOfChunk * lane_), true);
    }
    machine_.commit_copies();
    if constexpr (Config::kHasDropout) draw_dropout(walk, at, stage);
  }

  /// Each warp draws 16 of the queries, for all of the block's keys.
  SPARK_DEVICE void draw_dropout(const QueryWalk<Config, Machine>& walk, const QueryTileAt& at,
                                 typename Config::Tiles::Stage& stage) {
    const int warp = lane_ / 32;
#pragma unroll 1
    for (int tile = 0; tile < Config::kKeyTiles; ++tile) {
      TileDropout<typename Config::Layout, kWarpgroupRows, 1> dropout;
      dropout.draw(machine_, params_, walk.batch_head(), at.position + 16 * warp,
                   block_.first_key + kWarpgroupRows * tile);
      machine_.store_shared(&stage.dropped[tile][warp][machine_.lane()], dropout.word[0]);
    }
  }

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
  const BackwardParams& params_;
  typename Config::Tiles& tiles_;
  const KeyBlock block_;
  const int lane_;
};

}  // namespace sparkbench::hopper
