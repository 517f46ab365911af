// The producer warps: they load a block's keys and, a ring of stages ahead of the consumer
// warpgroups, Q, dO and the statistics of queries, and draw dropout.
#pragma once

#include <type_traits>

#include "kernels/hopper/backward/query_walk.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/tile_copies.h"
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

/// Machine is an ItemMachine.
template <class Config, class Machine, class Copies>
class QueryLoader {
 public:
  SPARK_DEVICE QueryLoader(Machine& machine, const BackwardParams& params, const Copies& copies)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        copies_(copies) {}

  /// All of the block's items.
  SPARK_DEVICE void run() {
    for (; !machine_.is_done(); machine_.advance()) {
      if (is_without_work<Config>(machine_, params_)) continue;
      const KeyBlock block = locate_keys<Config>(machine_, params_);
      QueryWalk<Config, Machine> walk(machine_, params_, block);
      const int tiles = walk.tiles();
      if (tiles == 0) load_keys(block);
      for (int tile = 0; tile < tiles; ++tile) {
        load_queries(block, walk);
        if (tile == 0) load_keys(block);
        walk.advance();
      }
    }
  }

 private:
  SPARK_DEVICE void load_keys(const KeyBlock& block) {
    const SequenceMask<Config> mask = mask_of_block<Config>(machine_, params_);
    const int stage = keys_.place();
    machine_.wait_at_mbarrier(&tiles_.barriers.rows_empty[stage], keys_.empty_parity());
    copies_.begin(tiles_.barriers.rows_full[stage]);
#pragma unroll 1
    for (int tile = 0; tile < Config::kKeyTiles; ++tile) {
      const auto load = [&](const ChunkedView<const Half>& view, const TensorMap& map, auto& to) {
        copies_.copy(
            to,
            {view, map, block.batch, block.first_k + block.first_key + kWarpgroupRows * tile,
             block.key_head, block.first_k + mask.seqlen_k},
            params_.head_chunks);
      };
      load(params_.k, params_.k_map, tiles_.k[stage][tile]);
      load(params_.v, params_.v_map, tiles_.v[stage][tile]);
    }
    copies_.end();
    keys_.advance();
  }

  SPARK_DEVICE void load_queries(const KeyBlock& block, const QueryWalk<Config, Machine>& walk) {
    auto& stage = tiles_.stage[ring_.place()];
    machine_.wait_at_mbarrier(&tiles_.barriers.empty[ring_.place()], ring_.empty_parity());
    const SequenceMask<Config> mask = mask_of_block<Config>(machine_, params_);
    const QueryTileAt at = query_tile<Config>(machine_, params_, walk.place());
    copies_.begin(tiles_.barriers.full[ring_.place()]);
    const auto load = [&](const ChunkedView<const Half>& view, const TensorMap& map, auto& tile) {
      copies_.copy(tile,
                   {view, map, block.batch, block.first_q + at.query, walk.head(),
                    block.first_q + mask.seqlen_q},
                   params_.head_chunks);
    };
    load(params_.q, params_.q_map, stage.q);
    load(params_.d_o, params_.d_o_map, stage.d_o);
    copies_.copy_bytes(stage.statistics[0].offset,
                       params_
                           .statistics[params_.template query_tile<Config>(
                               block.batch, block.sequence, block.first_q, walk.head(), at.query)]
                           .offset,
                       static_cast<int>(sizeof stage.statistics));
    if constexpr (Config::kLoaderDraws) draw_dropout(block, walk, at, stage);
    copies_.end();
    ring_.advance();
  }

  /// Each warp draws dropout for 16 of each 64 queries, for all of the block's keys.
  SPARK_DEVICE void draw_dropout(const KeyBlock& block, const QueryWalk<Config, Machine>& walk,
                                 const QueryTileAt& at, typename Config::Tiles::Stage& stage) {
    const int warp = machine_.warp() - Config::kConsumerWarps;
#pragma unroll 1
    for (int i = 0; i < Config::kStep / kWarpgroupRows * Config::kKeyTiles; ++i) {
      const int rows = i / Config::kKeyTiles, tile = i % Config::kKeyTiles;
      TileDropout<typename Config::Layout, kWarpgroupRows, 1> dropout;
      dropout.draw(machine_, params_, walk.batch_head(),
                   at.query + kWarpgroupRows * rows + 16 * warp,
                   block.first_key + kWarpgroupRows * tile);
      machine_.store_shared(&stage.dropped[rows][tile][warp][machine_.lane()], dropout.word[0]);
    }
  }

  Machine& machine_;
  const BackwardParams& params_;
  typename Config::Tiles& tiles_;
  Copies copies_;
  StageRing<Config> ring_;
  RowsRing<Config> keys_;
};

template <class Config, class Machine>
SPARK_DEVICE void load_key_items(Machine& machine, const BackwardParams& params) {
  with_copies<Config>(machine, [&](const auto& copies) {
    QueryLoader<Config, Machine, std::decay_t<decltype(copies)>>(machine, params, copies).run();
  });
}

}  // namespace sparkbench::hopper
