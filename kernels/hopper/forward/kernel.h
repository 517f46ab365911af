// Fused attention forward for Hopper's wgmma: O = dropout(softmax(scale Q K^T + mask)) V, with the
// online softmax of FlashAttention-2 and warps of their own for loads, as FlashAttention-3 has them
// (Shah et al., arXiv 2407.08608, section 3.1).
//
// A work item is kBlockM query rows of one head: each warpgroup of a block has 64 of them, each of
// its warps 16. One more warpgroup (the producer) loads Q, K and V. A block does one item or more
// (work_items.h). With row runs these are consecutive query tiles of one head, and K/V tiles stay
// in shared memory for the next item (row_runs.h).
//    1  Q to shared memory
//    2  for each tile of kBlockN keys that a row of the block sees:
//    3      the loader: K and V to a stage of shared memory
//    4      S = Q K^T                                  tensor cores, after line 8 before
//    5      S = -inf where masked                      only partial tiles
//    6      m = rowmax(m, S); O = rescale * O      where S exceeds m by far (lazy_rows.h)
//    7      l += P = exp(S - m); P = 0 where dropped
//    8      O += P V                                   tensor cores, P in registers
//    9  O / l, log-sum-exp to global memory
//
// Warpgroups are out of step: while one forms exponentials, the others' products run. A warpgroup
// does lines 7 and 8 in chunks of a tile's keys, so that its own products run beside its
// exponentials, too. If it sees only one half of a tile, it computes only that half.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/forward/config.h"
#include "kernels/hopper/forward/warpgroup.h"
#include "kernels/hopper/key_loader.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

/// Lines 7 and 8 of kKeys keys, from kBegin on, chunk by chunk: the products of one chunk run
/// beside the exponentials of the next. Not a for_each_chunk() (chunks.h): with dropout, ptxas 13.0
/// then adds 25 to 51 moves to kernels of 256 columns and to runs of 128.
template <int kKeys, int kBegin, class Config, class Warpgroup>
SPARK_DEVICE void attend_parts(Warpgroup& warp, const StageRing<Config>& ring, int first,
                               const typename Warpgroup::template ScoresOf<kKeys>& scores,
                               const typename Warpgroup::template DropoutOf<kKeys>& dropout,
                               typename Warpgroup::Softmax& softmax,
                               typename Warpgroup::Halves& p) {
  constexpr int kEnd = kBegin + Config::kPartKeys;
  auto& machine = warp.machine();
  warp.template form_probabilities<kKeys, kBegin, kEnd>(scores, dropout, softmax, p);
  if constexpr (kBegin == 0) warp.wait_for_values(ring);
  machine.fence_products();
  warp.template start_values<kBegin, kEnd>(ring.place(), first, p);
  machine.commit_products();
  if constexpr (kEnd < kKeys) {
    attend_parts<kKeys, kEnd, Config>(warp, ring, first, scores, dropout, softmax, p);
  }
}

/// The tiles that a warpgroup releases once a tile's scores are there: this tile's K, and the V of
/// the tile before, whose products are done by then. Tiles that stay for the next rows are not
/// released.
struct Released {
  bool keys, values_before;
};

/// Lines 4 to 8 of kKeys keys of a tile, from its first-th key on. The tile begins at `place`.
/// mask(place, scores) is line 5.
template <int kKeys, class Config, class Machine, class Mask>
SPARK_DEVICE void attend_keys(ForwardWarpgroup<Config, Machine>& warp,
                              const StageRing<Config>& ring, int place, int first,
                              const Released& released,
                              typename ForwardWarpgroup<Config, Machine>::Halves& p, Mask mask) {
  using Warpgroup = ForwardWarpgroup<Config, Machine>;
  Machine& machine = warp.machine();
  typename Warpgroup::template ScoresOf<kKeys> scores;
  typename Warpgroup::template DropoutOf<kKeys> dropout;
  machine.fence_products();
  warp.start_scores(ring.place(), first, scores);  // line 4
  machine.commit_products();
  SPARK_UNLESS_PLANTED(kScoresNotAwaited, machine.template wait_for_products<0>());
  if (released.keys) warp.release_keys(ring.place());
  if (released.values_before) warp.release_values(ring.previous_place());
  mask(place, scores);
  warp.draw_dropout(place, dropout);
  auto softmax = warp.begin_softmax(scores);                                       // line 6
  attend_parts<kKeys, 0, Config>(warp, ring, first, scores, dropout, softmax, p);  // lines 7, 8
  warp.add_sums(softmax);
}

/// Lines 2 to 8 of a warpgroup. It takes part in the ring of all tiles of the item, and computes
/// those that any of its own rows sees. The last `kept` tiles stay where they are.
template <class Config, class Machine>
SPARK_DEVICE void attend(ForwardWarpgroup<Config, Machine>& warp, StageRing<Config>& ring,
                         const Range& keys, int kept) {
  constexpr int kKeys = Config::kBlockN;
  Machine& machine = warp.machine();
  typename ForwardWarpgroup<Config, Machine>::Halves p;
  bool has_values_before = false;  // not yet released
  const Range uncut = warp.uncut_keys();
  int place = first_tile<Config::kTileStart>(keys);
  const int end = place + kKeys * tile_count<Config>(keys), end_released = end - kKeys * kept;
  const auto is_released_at = [&](int at) { return !Config::kHasRuns || at < end_released; };
  for (; place < end; place += kKeys) {
    if constexpr (!kIsSparse<Config>) {
      // Consecutive full tiles: most of the time goes here, so nothing else is in this loop.
      for (; uncut.contains(
               Range{place, place + SPARK_PLANTED(kHopperCutTileAsWhole, kKeys, kKeys - 1)});
           place += kKeys) {
        const bool is_released = is_released_at(place);
        warp.wait_for_keys(ring);
        attend_keys<kKeys>(warp, ring, place, 0, {is_released, has_values_before}, p,
                           [](int, auto&) {});
        has_values_before = is_released;
        ring.advance();
      }
      if (place >= end) break;
    }
    const WalkedTile tile = warp.tile_at(place);
    const auto mask = [&](int first, auto& scores) { warp.mask(first, tile, scores); };
    const Released released{is_released_at(place), has_values_before};
    warp.wait_for_keys(ring);
    if (tile.is_whole()) {
      attend_keys<kKeys>(warp, ring, place, 0, released, p, mask);
    } else if (tile.is_seen()) {
      if constexpr (Config::kHalvesTiles) {
        const int first = tile.halves == WalkedTile::kLower ? 0 : kKeys / 2;
        attend_keys<kKeys / 2>(warp, ring, place + first, first, released, p, mask);
      }
    } else {
      machine.template wait_for_products<0>();
      if (released.values_before) warp.release_values(ring.previous_place());
      if (released.keys) {
        warp.release_keys(ring.place());
        warp.wait_for_values(ring);
        warp.release_values(ring.place());
      }
    }
    has_values_before = released.keys && tile.is_seen();
    ring.advance();
  }
  machine.template wait_for_products<0>();
  if (has_values_before) warp.release_values(ring.previous_place());
  if constexpr (Config::kHasRuns) ring.retreat(kept);
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
      const Range keys = keys_of_block<Config>(item, params);
      attend<Config>(warpgroup, ring, keys,
                     kept_tiles<Config>(item, params, keys));  // lines 2 to 8
      warpgroup.write();                                       // line 9
      warpgroup.release_queries();
      queries.advance();
    }
  });
}

}  // namespace sparkbench::hopper
