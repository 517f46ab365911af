// The producer warps of the fused kernel: a run's tiles of keys stay for its steps of queries
// (tile_loader.h), each of which is loaded once.
#pragma once

#include "kernels/hopper/backward/carried_config.h"
#include "kernels/hopper/backward/key_runs.h"
#include "kernels/hopper/backward/query_loader.h"

namespace sparkbench::hopper {

/// Called by one warp, before a barrier. One warpgroup releases a stage, a tile of keys, or a
/// carried dQ.
template <class Config, class Machine>
SPARK_DEVICE void init_barriers(Machine& machine, CarriedBarriers<Config>& barriers,
                                int loader_warps) {
  const auto init = [&](auto& of, int arrivals) {
    for (Mbarrier& barrier : of) machine.init_mbarrier(&barrier, arrivals);
  };
  init(barriers.full, loader_warps);
  init(barriers.rows_full, loader_warps);
  init(barriers.empty, kWarpgroupWarps);
  init(barriers.visited, kWarpgroupWarps);
  init(barriers.rows_empty, kWarpgroupWarps);
  init(barriers.dq_empty, kWarpgroupWarps);
}

/// An item is a run: its number in its head, the head, the batch entry.
template <class Machine>
SPARK_DEVICE KeyRun run_of_item(Machine& item, const BackwardParams& params,
                                const RunCounts& before) {
  return {params.mask, item.block(0), params.grid.extent[0], before};
}

/// A step of queries of the run, and dropout for the tiles of keys that they see. `phases` has of
/// each stage how many phases its `visited` had before, modulo 2, a bit each.
template <class Config, class Machine, class Loader>
SPARK_DEVICE void load_step(Machine& item, const BackwardParams& params, const KeyRun& run,
                            int step, int& phases, Loader& loader) {
  const int head = item.block(1), batch = item.block(2), query = Config::kStep * step;
  const auto batch_head = static_cast<std::uint32_t>(batch * params.heads + head);
  auto& stage = loader.begin_queries();
  loader.copy_queries({batch, head, query, params.mask.seqlen_q},
                      params.query_tile(batch_head, query), stage);
  const int warp = item.warp() - Config::kConsumerWarps;
  if (warp == 0 && item.lane() == 0) {
    item.store_shared(
        &item.template shared<typename Config::Tiles>().phases_before[loader.stage_place()],
        phases >> loader.stage_place() & 1);
  }
  phases ^= (run.visits(step) & 1) << loader.stage_place();
  if constexpr (Config::kLoaderDraws) {
    const Range tiles = tiles_of_step(params.mask, step);
#pragma unroll 1
    for (int tile = tiles.begin; tile < least_of(tiles.end, run.end()); ++tile) {
      draw_dropout<Config>(item, params, batch_head, query, kWarpgroupRows * tile, warp,
                           stage.dropped[0][tile - tiles.begin]);
    }
  }
  loader.end_queries();
}

/// All of a block's items. Machine is an ItemMachine.
template <class Config, class Machine>
SPARK_DEVICE void load_run_items(Machine& item, const BackwardParams& params) {
  with_loader<Stays::kKeys, Config>(item, params, [&](auto& loader) {
    RunCounts before;
    int phases = 0;
    for (; !item.is_done(); item.advance()) {
      const KeyRun run = run_of_item(item, params, before);
      int step = run.first_step();
      for (int tile = run.first(); tile < run.end(); ++tile) {
        loader.load_staying(
            {item.block(2), item.block(1), kWarpgroupRows * tile, params.mask.seqlen_k});
        for (; step < run.steps(tile).end; ++step) {
          load_step<Config>(item, params, run, step, phases, loader);
        }
      }
      before = run.counts();
    }
  });
}

}  // namespace sparkbench::hopper
