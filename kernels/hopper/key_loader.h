// The producer warps of the kernels over blocks of queries, whose Q stays (tile_loader.h).
#pragma once

#include "kernels/hopper/row_runs.h"
#include "kernels/hopper/tile_loader.h"
#include "kernels/hopper/walked_tile.h"

namespace sparkbench::hopper {

/// Barriers of each stage of K and V, and of each warpgroup's queries.
template <class Config>
struct KeyBarriers {
  Mbarrier k_full[Config::kStages], v_full[Config::kStages];
  Mbarrier k_empty[Config::kStages], v_empty[Config::kStages];
  Mbarrier q_full[Config::kRowsStages][Config::kWarpgroups];
  Mbarrier q_empty[Config::kRowsStages][Config::kWarpgroups];
};

/// Called by one warp, before a barrier.
template <class Config, class Machine>
SPARK_DEVICE void init_barriers(Machine& machine, KeyBarriers<Config>& barriers, int loader_warps) {
#pragma unroll
  for (int stage = 0; stage < Config::kStages; ++stage) {
    machine.init_mbarrier(&barriers.k_full[stage], loader_warps);
    machine.init_mbarrier(&barriers.v_full[stage], loader_warps);
    machine.init_mbarrier(&barriers.k_empty[stage], Config::kConsumerWarps);
    machine.init_mbarrier(&barriers.v_empty[stage], Config::kConsumerWarps);
  }
#pragma unroll
  for (int stage = 0; stage < Config::kRowsStages; ++stage) {
#pragma unroll
    for (int warpgroup = 0; warpgroup < Config::kWarpgroups; ++warpgroup) {
      machine.init_mbarrier(&barriers.q_full[stage][warpgroup], loader_warps);
      machine.init_mbarrier(&barriers.q_empty[stage][warpgroup], kWarpgroupWarps);
    }
  }
}

/// All of a block's items: for dQ, dO is loaded beside Q.
template <class Config, class Machine, class Params>
SPARK_DEVICE void load_items(Machine& item, const Params& params) {
  with_loader<Stays::kQueries, Config>(item, params, [&](auto& loader) {
    int kept = 0;
    for (; !item.is_done(); item.advance()) {
      if (is_without_work<Config>(item, params)) continue;
      const ForwardBlock block = locate_block<Config>(item, params);
      const auto load_queries = [&] {
        const auto& mask = mask_of_block<Config>(item, params);
        loader.load_staying({block.batch, block.head, block.first_q + block.first_row,
                             block.first_q + mask.seqlen_q});
      };
      const Range keys = keys_of_block<Config>(item, params);
      const int tiles = tile_count<Config>(keys);
      int place = first_tile<Config::kTileStart>(keys) + Config::kBlockN * kept;
      // Queries come after the first tile, which may have room before they do. If that tile is
      // already there, they come first: the next tile's stage may not become free without them.
      if (tiles == 0 || kept > 0) load_queries();
      for (int tile = kept; tile < tiles; ++tile) {
        const auto& mask = mask_of_block<Config>(item, params);
        const int key = first_key<Config>(item, params, place);
        loader.load_keys({block.batch, block.key_head(params), block.first_k + key,
                          block.first_k + mask.seqlen_k});
        if (tile == 0) load_queries();
        place += Config::kBlockN;
      }
      kept = kept_tiles<Config>(item, params, keys);
    }
  });
}

}  // namespace sparkbench::hopper
