// Fused attention forward for Hopper's wgmma: O = dropout(softmax(scale Q K^T + mask)) V, with the
// online softmax of FlashAttention-2 and warps of their own for loads, as FlashAttention-3 has them
// (Shah et al., arXiv 2407.08608, section 3.1).
//
// One block computes kBlockM query rows of one head: each warpgroup 64 of them, each of its warps
// 16. One more warpgroup loads K and V.
//    1  Q to shared memory
//    2  for each tile of kBlockN keys that a row of the block sees:
//    3      the loader: K and V to a stage of shared memory
//    4      S = Q K^T                                  tensor cores, behind line 8 before
//    5      S = -inf where masked                      only tiles that the mask cuts
//    6      m = rowmax(m, S); l += P = exp(S - m); P = 0 where dropped
//    7      O = rescale * O
//    8      O += P V                                   tensor cores, P in registers
//    9  O / l, log-sum-exp to global memory
//
// Warpgroups are out of step: while one forms exponentials, the others' products run.
#pragma once

#include "kernels/hopper/forward_config.h"
#include "kernels/hopper/forward_warpgroup.h"
#include "kernels/hopper/key_loader.h"

namespace sparkbench::hopper {

/// Lines 2 to 8 of a warpgroup: all tiles of the item, for it takes part in their ring, of which it
/// computes those that some row of its own sees.
template <class Config, class Machine>
SPARK_DEVICE void attend(ForwardWarpgroup<Config, Machine>& warp, StageRing<Config>& ring,
                         const Range& keys) {
  using Warpgroup = ForwardWarpgroup<Config, Machine>;
  Machine& machine = warp.machine();
  typename Warpgroup::Halves p;
  bool multiplies_values = false;  // of the tile before
  int place = first_tile<Config::kTileStart>(keys);
  for (int tiles = tile_count<Config>(keys); tiles > 0; --tiles) {
    const auto tile = warp.tile_at(place);
    typename Warpgroup::Scores scores;
    warp.wait_for_keys(ring);
    if (tile.is_seen) {
      machine.fence_products();
      warp.start_scores(ring.place(), scores);  // line 4
      machine.commit_products();
    }
    machine.template wait_for_products<0>();
    if (multiplies_values) warp.release_stage(ring.previous_place());
    if (tile.is_seen) {
      warp.mask(place, tile, scores);             // line 5
      warp.form_probabilities(place, scores, p);  // lines 6, 7
      warp.wait_for_values(ring);
      machine.fence_products();
      warp.start_values(ring.place(), p);  // line 8
      machine.commit_products();
    } else {
      warp.wait_for_values(ring);
      warp.release_stage(ring.place());
    }
    multiplies_values = tile.is_seen;
    place += Config::kBlockN;
    ring.advance();
  }
  machine.template wait_for_products<0>();
  if (multiplies_values) warp.release_stage(ring.previous_place());
}

/// The kernel.
template <class Config, class Machine>
SPARK_DEVICE void attention_forward(Machine& machine, const LaunchParams& params) {
  const auto load = [&](auto& item) { load_items<Config>(item, params); };  // lines 1, 3
  divide_block<Config>(machine, params, load, [&](auto& item) {
    using Item = std::decay_t<decltype(item)>;
    StageRing<Config> ring;
    RowsRing<Config> queries;
    for (; !item.is_done(); item.advance()) {
      if (is_without_work<Config>(item, params)) continue;
      ForwardWarpgroup<Config, Item> warpgroup(item, params, queries);
      warpgroup.wait_for_queries();
      attend<Config>(warpgroup, ring, keys_of_block<Config>(item, params));  // lines 2 to 8
      warpgroup.write();                                                     // line 9
      warpgroup.release_queries();
      queries.advance();
    }
  });
}

}  // namespace sparkbench::hopper
