// The producer warps of the fused kernel: they load a run's tiles of keys and, ahead of the
// consumer warpgroups, Q, dO and the statistics of its steps of queries, each once; and draw
// dropout.
#pragma once

#include "kernels/hopper/backward/carried_config.h"
#include "kernels/hopper/backward/key_runs.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/tile_copies.h"
#include "kernels/tile/dropout.h"

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

/// Machine is an ItemMachine.
template <class Config, class Machine, class Copies>
class CarriedLoader {
 public:
  SPARK_DEVICE CarriedLoader(Machine& machine, const BackwardParams& params, const Copies& copies)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        copies_(copies) {}

  /// All of the block's items.
  SPARK_DEVICE void load() {
    RunCounts before;
    for (; !machine_.is_done(); machine_.advance()) {
      const KeyRun run = run_of_item(machine_, params_, before);
      int step = run.first_step();
      for (int tile = run.first(); tile < run.end(); ++tile) {
        load_keys(tile);
        for (; step < run.steps(tile).end; ++step) load_queries(run, step);
      }
      before = run.counts();
    }
  }

 private:
  SPARK_DEVICE int head() const { return machine_.block(1); }
  SPARK_DEVICE int batch() const { return machine_.block(2); }
  SPARK_DEVICE std::uint32_t batch_head() const {
    return static_cast<std::uint32_t>(batch() * params_.heads + head());
  }

  SPARK_DEVICE void load_keys(int tile) {
    const int place = keys_.place();
    machine_.wait_at_mbarrier(&tiles_.barriers.rows_empty[place], keys_.empty_parity());
    copies_.begin(tiles_.barriers.rows_full[place]);
    const auto load = [&](const ChunkedView<const Half>& view, const TensorMap& map, auto& to) {
      copies_.copy(to, {view, map, batch(), kWarpgroupRows * tile, head(), params_.mask.seqlen_k},
                   params_.head_chunks);
    };
    load(params_.k, params_.k_map, tiles_.k[place][0]);
    load(params_.v, params_.v_map, tiles_.v[place][0]);
    copies_.end();
    keys_.advance();
  }

  SPARK_DEVICE void load_queries(const KeyRun& run, int step) {
    auto& stage = tiles_.stage[ring_.place()];
    const int position = Config::kStep * step;
    machine_.wait_at_mbarrier(&tiles_.barriers.empty[ring_.place()], ring_.empty_parity());
    copies_.begin(tiles_.barriers.full[ring_.place()]);
    const auto load = [&](const ChunkedView<const Half>& view, const TensorMap& map, auto& tile) {
      copies_.copy(tile, {view, map, batch(), position, head(), params_.mask.seqlen_q},
                   params_.head_chunks);
    };
    load(params_.q, params_.q_map, stage.q);
    load(params_.d_o, params_.d_o_map, stage.d_o);
    copies_.copy_bytes(stage.statistics[0].offset,
                       params_.statistics[params_.query_tile(batch_head(), position)].offset,
                       static_cast<int>(sizeof stage.statistics));
    tell_phases(run.visits(step));
    if constexpr (Config::kLoaderDraws) draw_dropout(run, step, stage);
    copies_.end();
    ring_.advance();
  }

  /// Stores for the consumers how many phases `visited` had before this step, modulo 2.
  SPARK_DEVICE void tell_phases(int visits) {
    const int place = ring_.place();
    if (machine_.warp() == Config::kConsumerWarps && machine_.lane() == 0) {
      machine_.store_shared(&tiles_.phases_before[place], phases_ >> place & 1);
    }
    phases_ ^= (visits & 1) << place;
  }

  SPARK_DEVICE void draw_dropout(const KeyRun& run, int step,
                                 typename Config::Tiles::Stage& stage) {
    const int warp = machine_.warp() - Config::kConsumerWarps;
    const Range tiles = tiles_of_step(params_.mask, step);
#pragma unroll 1
    for (int tile = tiles.begin; tile < least_of(tiles.end, run.end()); ++tile) {
      TileDropout<typename Config::Layout, kWarpgroupRows, 1> dropout;
      dropout.draw(machine_, params_, batch_head(), Config::kStep * step + 16 * warp,
                   kWarpgroupRows * tile);
      machine_.store_shared(&stage.dropped[0][tile - tiles.begin][warp][machine_.lane()],
                            dropout.word[0]);
    }
  }

  Machine& machine_;
  const BackwardParams& params_;
  typename Config::Tiles& tiles_;
  Copies copies_;
  StageRing<Config> ring_;
  RowsRing<Config> keys_;
  int phases_ = 0;  // of each stage's `visited`, a bit each
};

}  // namespace sparkbench::hopper
