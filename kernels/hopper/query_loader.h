// The warps that load Q, dO and the statistics of queries for a block of keys, and draw dropout, a
// ring of stages ahead of the warpgroups that multiply them.
#pragma once

#include "kernels/hopper/fill_stages.h"
#include "kernels/hopper/query_walk.h"
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
    machine_.barrier_of_warps();  // with K and V
    QueryWalk<Config, Machine> walk(machine_, params_, block_);
    fill_stages(machine_, StageRing<Config>(walk.tiles()), [&](int stage) {
      load(walk, tiles_.stage[stage]);
      walk.advance();
    });
  }

 private:
  SPARK_DEVICE void load(const QueryWalk<Config, Machine>& walk,
                         typename Config::Tiles::Stage& stage) {
    const QueryTileAt at = query_tile<Config>(machine_, params_, walk.place());
    const auto load_tile = [&](const ChunkedView<const Half>& tensor, auto& tile) {
      copy_rows<32 * Config::kLoaderWarps>(
          machine_, tile, tensor.at(block_.batch, at.token, walk.head()),
          rows_apart<Config>(params_.sparse, tensor), params_.mask.seqlen_q - at.token,
          params_.head_chunks, lane_);
    };
    load_tile(params_.q, stage.q);
    load_tile(params_.d_o, stage.d_o);
    constexpr int kOfChunk = sizeof(Bits128) / sizeof(RowStatistics);
    if (lane_ < Config::kStep / kOfChunk) {
      machine_.copy_async(&stage.statistics[kOfChunk * lane_],
                          params_.statistics_of(walk.batch_head(), at.position + kOfChunk * lane_),
                          true);
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

  Machine& machine_;
  const BackwardParams& params_;
  typename Config::Tiles& tiles_;
  const KeyBlock block_;
  const int lane_;
};

}  // namespace sparkbench::hopper
