// The producer warps of the kernels over blocks of keys, whose K and V stay (tile_loader.h).
#pragma once

#include "kernels/hopper/backward/query_walk.h"
#include "kernels/hopper/tile_loader.h"
#include "kernels/tile/dropout.h"

namespace sparkbench::hopper {

/// Called by one warp, before a barrier.
template <class Config, class Machine>
SPARK_DEVICE void init_barriers(Machine& machine, QueryBarriers<Config>& barriers,
                                int loader_warps) {
#pragma unroll
  for (int stage = 0; stage < Config::kStages; ++stage) {
    machine.init_mbarrier(&barriers.full[stage], loader_warps);
    machine.init_mbarrier(&barriers.empty[stage], Config::kConsumerWarps);
  }
#pragma unroll
  for (int stage = 0; stage < Config::kRowsStages; ++stage) {
    machine.init_mbarrier(&barriers.rows_full[stage], loader_warps);
    machine.init_mbarrier(&barriers.rows_empty[stage], Config::kConsumerWarps);
  }
  if constexpr (Config::kSumsDq) {
#pragma unroll
    for (int stage = 0; stage < Config::kScoreGradientStages; ++stage) {
      machine.init_mbarrier(&barriers.gradients_full[stage], Config::kConsumerWarps);
      machine.init_mbarrier(&barriers.gradients_empty[stage],
                            Config::kConsumerWarps / Config::kDqTurns);
    }
  }
}

/// Each producer warp draws dropout for 16 of 64 queries, for a tile of keys: from `query` and
/// `key` on.
template <class Config, class Machine>
SPARK_DEVICE void draw_dropout(Machine& machine, const BackwardParams& params,
                               std::uint32_t batch_head, int query, int key, int warp,
                               std::uint32_t (&dropped)[kWarpgroupWarps][32]) {
  TileDropout<typename Config::Layout, kWarpgroupRows, 1> dropout;
  dropout.draw(machine, params, batch_head, query + 16 * warp, key);
  machine.store_shared(&dropped[warp][machine.lane()], dropout.word[0]);
}

/// The queries of a tile of the walk, and dropout for all of the block's keys.
template <class Config, class Machine, class Loader>
SPARK_DEVICE void load_queries(Machine& item, const BackwardParams& params, const KeyBlock& block,
                               const QueryWalk<Config, Machine>& walk, Loader& loader) {
  auto& stage = loader.begin_queries();
  const auto& mask = mask_of_block<Config>(item, params);
  const QueryTileAt at = query_tile<Config>(item, params, walk.place());
  loader.copy_queries(
      {block.batch, walk.head(), block.first_q + at.query, block.first_q + mask.seqlen_q},
      params.template query_tile<Config>(block.batch, block.sequence, block.first_q, walk.head(),
                                         at.query),
      stage);
  if constexpr (Config::kLoaderDraws) {
    const int warp = item.warp() - Config::kConsumerWarps;
#pragma unroll 1
    for (int i = 0; i < Config::kStep / kWarpgroupRows * Config::kKeyTiles; ++i) {
      const int rows = i / Config::kKeyTiles, tile = i % Config::kKeyTiles;
      draw_dropout<Config>(item, params, walk.batch_head(), at.query + kWarpgroupRows * rows,
                           block.first_key + kWarpgroupRows * tile, warp,
                           stage.dropped[rows][tile]);
    }
  }
  loader.end_queries();
}

/// All of a block's items. Machine is an ItemMachine.
template <class Config, class Machine>
SPARK_DEVICE void load_key_items(Machine& item, const BackwardParams& params) {
  with_loader<Stays::kKeys, Config>(item, params, [&](auto& loader) {
    for (; !item.is_done(); item.advance()) {
      if (is_without_work<Config>(item, params)) continue;
      const KeyBlock block = locate_keys<Config>(item, params);
      const auto load_keys = [&] {
        const auto& mask = mask_of_block<Config>(item, params);
        loader.load_staying({block.batch, block.key_head, block.first_k + block.first_key,
                             block.first_k + mask.seqlen_k});
      };
      QueryWalk<Config, Machine> walk(item, params, block);
      const int tiles = walk.tiles();
      if (tiles == 0) load_keys();
      for (int tile = 0; tile < tiles; ++tile) {
        load_queries<Config>(item, params, block, walk, loader);
        if (tile == 0) load_keys();
        walk.advance();
      }
    }
  });
}

}  // namespace sparkbench::hopper
