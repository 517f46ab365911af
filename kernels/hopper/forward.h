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
#include "kernels/hopper/forward_loader.h"
#include "kernels/hopper/forward_warpgroup.h"

namespace sparkbench::hopper {

/// Lines 2 to 8 of a warpgroup: all tiles of the block, for it takes part in their ring, of which
/// it computes those that some row of its own sees.
template <class Config, class Machine>
SPARK_DEVICE void attend(ForwardWarpgroup<Config, Machine>& warp, const Range& keys) {
  using Warpgroup = ForwardWarpgroup<Config, Machine>;
  Machine& machine = warp.machine();
  typename Warpgroup::Halves p;
  bool multiplies_values = false;  // of the tile before
  int place = first_tile<Config::kBlockN>(keys);
  for (StageRing<Config> ring(tile_count<Config>(keys)); !ring.is_done(); ring.advance()) {
    const auto tile = warp.tile_at(place);
    typename Warpgroup::Scores scores;
    ring.wait_until_full(machine, warp.warpgroup());
    if (tile.is_seen) {
      machine.fence_products();
      warp.start_scores(ring.stage(), scores);  // line 4
      machine.commit_products();
    }
    machine.template wait_for_products<0>();
    if (multiplies_values) ring.release_previous(machine);
    if (tile.is_seen) {
      warp.mask(place, tile, scores);             // line 5
      warp.form_probabilities(place, scores, p);  // lines 6, 7
      machine.fence_products();
      warp.start_values(ring.stage(), p);  // line 8
      machine.commit_products();
    } else {
      ring.release(machine);
    }
    multiplies_values = tile.is_seen;
    place += Config::kBlockN;
  }
  machine.template wait_for_products<0>();
}

/// The kernel.
template <class Config, class Machine>
SPARK_DEVICE void attention_forward(Machine& machine, const ForwardParams& params) {
  if (machine.uniform(machine.warp()) >= Config::kConsumerWarps) {
    machine.template give_registers<Config::kLoaderRegisters>();
    KeyLoader<Config, Machine>(machine, params).run();  // line 3
    return;
  }
  machine.template take_registers<Config::kConsumerRegisters>();
  ForwardWarpgroup<Config, Machine> warp(machine, params);
  warp.stage_queries();                                          // line 1
  attend<Config>(warp, keys_of_block<Config>(machine, params));  // lines 2 to 8
  warp.write();                                                  // line 9
}

}  // namespace sparkbench::hopper
