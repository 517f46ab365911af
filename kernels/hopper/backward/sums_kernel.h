// The dK/dV loop that adds up dQ too: five products, where separate dK/dV and dQ kernels have
// seven. Lines are those of kernel.h. The products of a tile's dQ come between those of the next
// tile, when all warpgroups have stored their part of dS (dq_sums.h).
//
// Warpgroups multiply in turn, as FlashAttention-3's ping-pong: from lines 7 and 8 to line 4 of the
// next tile the tensor cores are one warpgroup's, while the others do lines 5 and 6. Otherwise they
// would fall into step, because each waits for the others' dS.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/backward/dq_sums.h"
#include "kernels/hopper/backward/key_warpgroup.h"

namespace sparkbench::hopper {

/// The order in which warpgroups multiply: a named barrier for each, at which the one before it
/// arrives.
template <class Config>
struct MultiplyTurns {
  static constexpr int kFirstBarrier = 1 + Config::kKeyTiles, kWarps = 2 * kWarpgroupWarps;

  template <class Machine>
  SPARK_DEVICE static void wait(Machine& machine, int warpgroup) {
    machine.wait_at_barrier(kFirstBarrier + warpgroup, kWarps);
  }
  template <class Machine>
  SPARK_DEVICE static void pass(Machine& machine, int warpgroup) {
    const int next = warpgroup + 1 == Config::kWarpgroups ? 0 : warpgroup + 1;
    machine.arrive_at_barrier(kFirstBarrier + next, kWarps);
  }
};

/// The first turn is the first warpgroup's.
template <class Config, class Machine>
SPARK_DEVICE void begin_turns(Machine& machine) {
  const int warpgroup = machine.uniform(machine.warp()) / kWarpgroupWarps;
  if (warpgroup == Config::kWarpgroups - 1) MultiplyTurns<Config>::pass(machine, warpgroup);
}

/// Lines 7 and 8 of a tile of queries, and between them, in the warpgroup's turn, the product of
/// the dQ of the tile before. Waits for all of them.
template <class Warpgroup, class Sums>
SPARK_DEVICE void multiply_in_turn(Warpgroup& warp, Sums& sums, int stage,
                                   const typename Warpgroup::Halves& p,
                                   const typename Warpgroup::Halves& ds) {
  auto& machine = warp.machine();
  const auto start_dk = [&] {
    machine.fence_products();
    warp.start_dk(stage, ds);  // line 8
    machine.commit_products();
  };
  machine.fence_products();
  warp.start_dv(stage, p);  // line 7
  machine.commit_products();
  if (sums.has_turn()) {
    sums.start();
    machine.commit_products();
    start_dk();
    machine.template wait_for_products<1>();
    sums.finish();
  } else {
    start_dk();
  }
  machine.template wait_for_products<0>();
}

/// Lines 2 to 8.
template <class Config, class Machine>
SPARK_DEVICE void attend_keys_summing(Machine& machine, const BackwardParams& params,
                                      const KeyBlock& block, KeyWarpgroup<Config, Machine>& warp,
                                      StageRing<Config>& ring, const RowsRing<Config>& keys,
                                      DqTurns<Config>& turns) {
  using Turns = MultiplyTurns<Config>;
  const int warpgroup = machine.uniform(machine.warp()) / kWarpgroupWarps;
  QueryWalk<Config, Machine> walk(machine, params, block);
  DqSums<Config, Machine> sums(machine, params, keys.place(), turns);
  bool is_first = true;
  const auto pass_turn = [&] {
    if (!is_first) Turns::pass(machine, warpgroup);
  };
  for (int tiles = walk.tiles(); tiles > 0; --tiles) {
    const QueryTileAt tile = query_tile<Config>(machine, params, walk.place());
    typename KeyWarpgroup<Config, Machine>::Halves p, ds;
    warp.form_halves(walk.place(), tile, ring, pass_turn, p, ds);  // lines 4 to 6
    sums.store(ds);
    Turns::wait(machine, warpgroup);
    multiply_in_turn(warp, sums, ring.place(), p, ds);
    warp.release_stage(ring.place());
    sums.advance(
        params.template query_tile<Config>(SPARK_PLANTED(kDqSumsOfFirstEntry, block.batch, 0),
                                           block.sequence, block.first_q, walk.head(), tile.query));
    is_first = false;
    walk.advance();
    ring.advance();
  }
  pass_turn();
  sums.add_last();
}

}  // namespace sparkbench::hopper
