// dK and dV for Hopper's wgmma, over a key head's blocks of keys (FlashAttention-2, algorithm 2).
// Scores are transposed, keys by queries, as in FlashAttention-3: the registers of P and dS are
// then operands of the products with dO and Q.
//
// One block has kBlockKeys keys of one key head, each warpgroup 64 of them, and a warpgroup that
// loads:
//    1  the loader: K and V to shared memory
//    2  for each tile of queries, of each head of the group, that see a key of the block:
//    3      the loader: Q, dO and their statistics to a stage of shared memory; what is dropped
//    4      S' = K Q', dP' = V dO'                     tensor cores
//    5      P = exp(S - lse), 0 where masked           beside dP
//    6      dS = P * (dP - D), dP = 0 where dropped
//    7      dV += (P, 0 where dropped)' dO             tensor cores, P in registers
//    8      dK += dS' Q                                tensor cores, dS in registers
//    9  scale * dK and dV to global memory
#pragma once

#include "kernels/hopper/backward/key_warpgroup.h"
#include "kernels/hopper/backward/sums_kernel.h"
#include "kernels/hopper/chunks.h"

namespace sparkbench::hopper {

/// Lines 2 to 8.
template <class Config, class Machine>
SPARK_DEVICE void attend_keys(Machine& machine, const BackwardParams& params, const KeyBlock& block,
                              KeyWarpgroup<Config, Machine>& warp, StageRing<Config>& ring) {
  using Warpgroup = KeyWarpgroup<Config, Machine>;
  QueryWalk<Config, Machine> walk(machine, params, block);
  for (int tiles = walk.tiles(); tiles > 0; --tiles) {
    const QueryTileAt tile = query_tile<Config>(machine, params, walk.place());
    typename Warpgroup::Scores s, dp;
    typename Warpgroup::OfQueries delta;
    typename Warpgroup::Halves p, ds;
    warp.form_probabilities(
        walk.place(), tile, ring, [] {}, s, dp, delta);
    const int stage = ring.place();
    // The products of one chunk run beside the arithmetic of the next.
    for_each_chunk<Config::kPartQueries, Config::kStep>([&](auto chunk) {
      constexpr int kBegin = decltype(chunk)::kBegin, kEnd = decltype(chunk)::kEnd;
      warp.template form_score_gradients<kBegin, kEnd>(delta, s, dp, ds);  // line 6
      warp.template pack_probabilities<kBegin, kEnd>(s, p);
      machine.fence_products();
      warp.template start_dv<kBegin, kEnd>(stage, p);   // line 7
      warp.template start_dk<kBegin, kEnd>(stage, ds);  // line 8
      machine.commit_products();
    });
    machine.template wait_for_products<0>();
    warp.release_stage(stage);
    walk.advance();
    ring.advance();
  }
}

/// The dK/dV kernel, which also adds up dQ if Config says so.
template <class Config, class Machine>
SPARK_DEVICE void attention_backward(Machine& machine, const BackwardParams& params) {
  const auto load = [&](auto& item) { load_key_items<Config>(item, params); };  // lines 1, 3
  divide_block<Config>(machine, params, load, [&](auto& item) {
    using Item = std::decay_t<decltype(item)>;
    StageRing<Config> ring;
    RowsRing<Config> keys;
    [[maybe_unused]] DqTurns<Config> turns;
    if constexpr (Config::kSumsDq) begin_turns<Config>(item);
    for (; !item.is_done(); item.advance()) {
      if (is_without_work<Config>(item, params)) continue;
      const KeyBlock block = locate_keys<Config>(item, params);
      KeyWarpgroup<Config, Item> warpgroup(item, params, block, keys);
      warpgroup.wait_for_keys();
      if constexpr (Config::kSumsDq) {
        attend_keys_summing<Config>(item, params, block, warpgroup, ring, keys, turns);
      } else {
        attend_keys<Config>(item, params, block, warpgroup, ring);
      }
      warpgroup.write();  // line 9
      warpgroup.release_keys();
      keys.advance();
    }
  });
}

}  // namespace sparkbench::hopper
