// The producer warps: they load Q, K and V of a block's items, a ring of stages ahead of the
// consumer warpgroups. For dQ they load dO beside Q.
#pragma once

#include <type_traits>

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/row_runs.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/tile_copies.h"
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

/// Machine is an ItemMachine, or a RunMachine.
template <class Config, class Machine, class Params, class Copies>
class KeyLoader {
 public:
  SPARK_DEVICE KeyLoader(Machine& machine, const Params& params, const Copies& copies)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        copies_(copies) {}

  /// All of the block's items.
  SPARK_DEVICE void run() {
    int kept = 0;
    for (; !machine_.is_done(); machine_.advance()) {
      if (is_without_work<Config>(machine_, params_)) continue;
      const ForwardBlock block = locate_block<Config>(machine_, params_);
      const Range keys = keys_of_block<Config>(machine_, params_);
      const int tiles = tile_count<Config>(keys);
      int place = first_tile<Config::kTileStart>(keys) + Config::kBlockN * kept;
      // Queries come after the first tile, which may have room before they do. If that tile is
      // already there, they come first: the next tile's stage may not become free without them.
      if (tiles == 0 || kept > 0) load_queries(block);
      for (int tile = kept; tile < tiles; ++tile) {
        load_keys(block, place);
        if (tile == 0) load_queries(block);
        place += Config::kBlockN;
      }
      kept = kept_tiles<Config>(machine_, params_, keys);
    }
  }

 private:
  SPARK_DEVICE void load_keys(const ForwardBlock& block, int place) {
    auto& barriers = tiles_.barriers;
    auto& stage = tiles_.stage[ring_.place()];
    const SequenceMask<Config> mask = mask_of_block<Config>(machine_, params_);
    const int key = first_key<Config>(machine_, params_, place);
    const auto wait = [&](Mbarrier& empty) {
      machine_.wait_at_mbarrier(&empty, ring_.empty_parity());
    };
    const auto load = [&](const ChunkedView<const Half>& view, const TensorMap& map, auto& tile,
                          Mbarrier& full) {
      copies_.begin(full);
      copies_.copy(tile,
                   {view, map, block.batch, block.first_k + key, block.key_head(params_),
                    block.first_k + mask.seqlen_k},
                   params_.head_chunks);
      copies_.end();
    };
    // Waiting for each separately takes a register that varlen kernels lack; with many stages it
    // gains nothing.
    constexpr bool kWaitsForBoth = Config::kIsPacked && Config::kStages > 3;
    SPARK_UNLESS_PLANTED(kStageFilledEarly, wait(barriers.k_empty[ring_.place()]));
    if constexpr (kWaitsForBoth) wait(barriers.v_empty[ring_.place()]);
    load(params_.k, params_.k_map, stage.k, barriers.k_full[ring_.place()]);
    if constexpr (!kWaitsForBoth) wait(barriers.v_empty[ring_.place()]);
    load(params_.v, params_.v_map, stage.v, barriers.v_full[ring_.place()]);
    ring_.advance();
  }

  SPARK_DEVICE void load_queries(const ForwardBlock& block) {
    auto& barriers = tiles_.barriers;
    const SequenceMask<Config> mask = mask_of_block<Config>(machine_, params_);
#pragma unroll 1
    for (int warpgroup = 0; warpgroup < Config::kWarpgroups; ++warpgroup) {
      const int stage = queries_.place();
      machine_.wait_at_mbarrier(&barriers.q_empty[stage][warpgroup], queries_.empty_parity());
      const auto load = [&](const ChunkedView<const Half>& view, const TensorMap& map, auto& tile) {
        copies_.copy(
            tile,
            {view, map, block.batch, block.first_q + block.first_row + kWarpgroupRows * warpgroup,
             block.head, block.first_q + mask.seqlen_q},
            params_.head_chunks);
      };
      copies_.begin(barriers.q_full[stage][warpgroup]);
      load(params_.q, params_.q_map, tiles_.q[stage][warpgroup]);
      if constexpr (Config::kQueryTensors == 2) {
        load(params_.d_o, params_.d_o_map, tiles_.d_o[stage][warpgroup]);
      }
      copies_.end();
    }
    queries_.advance();
  }

  Machine& machine_;
  const Params& params_;
  typename Config::Tiles& tiles_;
  Copies copies_;
  StageRing<Config> ring_;
  RowsRing<Config> queries_;
};

template <class Config, class Machine, class Params>
SPARK_DEVICE void load_items(Machine& machine, const Params& params) {
  with_copies<Config>(machine, [&](const auto& copies) {
    KeyLoader<Config, Machine, Params, std::decay_t<decltype(copies)>>(machine, params, copies)
        .run();
  });
}

}  // namespace sparkbench::hopper
