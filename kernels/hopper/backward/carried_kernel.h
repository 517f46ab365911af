// dK, dV and dQ for Hopper's wgmma in one kernel, for windows, bands and short sequences, whose
// rows see few keys. The kernel carries dQ: the key tiles that see a step of queries follow each
// other in one block (a key run, key_runs.h), and the sum so far waits in shared memory for the
// next tile. So Q, K, V and dO are read once and dQ is written once, nothing is added in device
// memory, and all sums have the order of the separate kernels (kernel.h, dq_kernel.h), whose bits
// they have.
//
// The warpgroups of a block take the tiles of its run in turn, 64 keys each, and all products of
// these. They do a step of queries one after the other, in the order of keys:
//    1  the loader: K and V of the run's next tile to shared memory
//    2  the loader: Q, dO and their statistics of the steps that it is the first to see
//    3  for each step of 64 queries that sees a key of the tile:
//    4      S' = K Q', dP' = V dO'                     tensor cores
//    5      P = exp(S - lse), 0 where masked           beside dP
//    6      dS = P * (dP - D), dP = 0 where dropped
//    7      dV += (P, 0 where dropped)' dO             tensor cores, P in registers
//    8      dK += dS' Q                                tensor cores, dS in registers
//    9      after the tile before has added its dQ: dQ += dS K, dS through shared memory
//   10      for the step's last tile: scale * dQ to global memory
//   11  scale * dK and dV to global memory
// While one warpgroup does lines 5 and 6 the other multiplies.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/backward/carried_loader.h"
#include "kernels/hopper/backward/key_warpgroup.h"
#include "kernels/hopper/block_roles.h"
#include "kernels/hopper/chunks.h"

namespace sparkbench::hopper {

/// A warpgroup's dQ of its tile and a step: lines 9 and 10.
template <class Config, class Machine>
class CarriedProduct {
 public:
  /// `keys` is the ring stage of the tile's keys.
  SPARK_DEVICE CarriedProduct(Machine& machine, const BackwardParams& params, const KeyBlock& block,
                              int keys)
      : machine_(machine),
        params_(params),
        block_(block),
        tiles_(machine.template shared<typename Config::Tiles>()),
        warpgroup_(machine.uniform(machine.warp()) / kWarpgroupWarps),
        keys_(keys) {}

  /// dS of the step: operand A, keys by queries.
  template <class Halves>
  SPARK_DEVICE void store(const Halves& ds) {
    auto& gradients = tiles_.score_gradients[warpgroup_];
    const int lane = machine_.lane();
    meet_warpgroup();  // until no warp multiplies the dS before
#pragma unroll
    for (int step = 0; step < Config::kQuerySteps; ++step) {
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        machine_.store_shared(
            &gradients.at(of_warp() + m16n8k16::c_row(lane, 2 * slot), step)->word[lane & 3],
            ds.of[step / 2].pair[2 * (step % 2) + slot]);
      }
    }
    machine_.fence_async_proxy();
    meet_warpgroup();
  }

  /// Lines 9 and 10 of a visit, after `steps_before` earlier steps of the run. The step's queries
  /// begin at `position` of a head. Waits for all products of the warpgroup.
  SPARK_DEVICE void add(const StepVisit& visit, int steps_before, int position) {
    const StageRing<Config> stage(steps_before);
    const Ring<Config::kCarriedSteps> carried(steps_before);
    Mbarrier& visited = tiles_.barriers.visited[stage.place()];
    const int phases = machine_.template load_shared<int>(&tiles_.phases_before[stage.place()]);
    SPARK_UNLESS_PLANTED(kCarriedTurnNotAwaited,
                         machine_.wait_at_mbarrier(&visited, (phases + visit.index + 1) & 1));
    if (visit.index == 0) {
      machine_.wait_at_mbarrier(&tiles_.barriers.dq_empty[carried.place()], carried.empty_parity());
    }
    for_each_chunk<Config::kDqColumns, Config::kHeadDim>([&](auto columns) {
      add_columns<decltype(columns)::kBegin>(visit, carried.place(), position);
    });
    machine_.arrive_at_mbarrier(&visited);
    if (!visit.is_last) return;
    machine_.arrive_at_mbarrier(&tiles_.barriers.dq_empty[carried.place()]);
    machine_.arrive_at_mbarrier(&tiles_.barriers.empty[stage.place()]);
  }

 private:
  using Fragment = typename Config::Layout::Fragment;
  using Part = Fragment[Config::kDqColumns / 8];
  using Carried = CarriedDq<Config::kDqColumns>;

  /// Adds the columns of one product, from kBegin on, to the step's dQ.
  template <int kBegin>
  SPARK_DEVICE void add_columns(const StepVisit& visit, int place, int position) {
    constexpr int kPart = kBegin / Config::kDqColumns;
    Part dq;
    const std::uint64_t keys = describe_columns(machine_, tiles_.k[recomputed(keys_)][0]);
    const std::uint64_t gradients =
        describe_columns(machine_, tiles_.score_gradients[recomputed(warpgroup_)]);
    Carried& carried = tiles_.dq[place][kPart];
    if (SPARK_PLANTED(kCarriedDqLost, visit.index == 0, true)) {
      clear(dq);
    } else {
      load(carried, dq);
    }
    machine_.fence_products();
#pragma unroll
    for (int step = 0; step < kWarpgroupRows / Config::kProductDepth; ++step) {
      machine_.template multiply_async<typename Config::Element, Config::kDqColumns, kRowsAreK,
                                       kRowsAreKOfA>(
          dq, gradients + rows_step(step),
          keys + (descriptor_step(kPart * Config::KeyTile::kPanelBytes) + rows_step(step)), true);
    }
    machine_.commit_products();
    machine_.template wait_for_products<0>();
    if (visit.is_whole) {
      write(carried, dq, kBegin, position);
    } else {
      store(dq, carried);
    }
  }

  SPARK_DEVICE void load(const Carried& carried, Part& dq) {
#pragma unroll
    for (int step = 0; step < Config::kDqColumns / 8; ++step) {
      const auto bits = machine_.template load_shared<Bits128>(&carried.sums[step][thread()]);
      memcpy(dq[step].element, &bits, sizeof bits);
    }
  }
  SPARK_DEVICE void store(const Part& dq, Carried& carried) {
#pragma unroll
    for (int step = 0; step < Config::kDqColumns / 8; ++step) {
      Bits128 bits;
      memcpy(&bits, dq[step].element, sizeof bits);
      machine_.store_shared(&carried.sums[step][thread()], bits);
    }
  }
  SPARK_DEVICE void write(Carried& carried, const Part& dq, int first_column, int position) {
    const float scale = params_.scale * params_.dropout.keep_scale, factor[2] = {scale, scale};
    const int head = block_.key_head;
    meet_warpgroup();  // rows of other warps are where they have their sums
    store_accumulator<typename Config::Element>(machine_, carried.rows, of_warp(), 0, factor, dq);
    machine_.sync_warp();
    ChunkedView<Bits16> columns = params_.dq;
    columns.first += first_column;
    const OutputRows<Config, Machine> output(machine_, params_.sparse, head, position,
                                             position + of_warp(), params_.mask.seqlen_q);
    output.template copy<Config::kDqColumns / kChunkHalves>(
        carried.rows, of_warp(), 0, params_.head_chunks - first_column / kChunkHalves,
        {columns, {}}, block_.batch, head);
  }

  /// The same, without computing ahead where registers are short.
  SPARK_DEVICE int recomputed(int value) const {
    return Config::kRecomputes ? machine_.opaque(value) : value;
  }
  SPARK_DEVICE void meet_warpgroup() { machine_.wait_at_barrier(1 + warpgroup_, kWarpgroupWarps); }
  SPARK_DEVICE int of_warp() const { return kWarpRows * (machine_.warp() % kWarpgroupWarps); }
  SPARK_DEVICE int thread() const { return machine_.thread() % (32 * kWarpgroupWarps); }

  Machine& machine_;
  const BackwardParams& params_;
  const KeyBlock& block_;
  typename Config::Tiles& tiles_;
  const int warpgroup_, keys_;
};

template <class Config, class Machine>
SPARK_DEVICE void recompute_indices(Machine& machine) {
  if constexpr (Config::kRecomputes) machine.recompute_indices();
}

/// Lines 3 to 11 of one of a warpgroup's tiles, whose keys are in a ring stage.
template <class Config, class Machine>
SPARK_DEVICE void attend_tile(Machine& item, const BackwardParams& params, const KeyRun& run,
                              int tile, const RowsRing<Config>& keys) {
  using Warpgroup = KeyWarpgroup<Config, Machine>;
  const int batch = item.block(2);
  recompute_indices<Config>(item);
  const KeyBlock block{batch, item.block(1), kWarpgroupRows * tile, batch};
  Warpgroup warp(item, params, block, keys);
  CarriedProduct<Config, Machine> dq(item, params, block, keys.place());
  warp.wait_for_keys();
  const Range steps = run.steps(tile);
  for (int step = steps.begin; step < steps.end; ++step) {
    const int query = Config::kStep * step, steps_before = run.steps_before(step);
    const StageRing<Config> stage(steps_before);
    typename Warpgroup::Halves p, ds;
    recompute_indices<Config>(item);
    const StepVisit visit = run.visit(tile, step);
    warp.use_drawn(visit.index);
    warp.form_halves(
        query, {query, true}, stage, [] {}, p, ds);  // lines 4 to 6
    item.fence_products();
    warp.start_dv(stage.place(), p);   // line 7
    warp.start_dk(stage.place(), ds);  // line 8
    item.commit_products();
    dq.store(ds);
    dq.add(visit, steps_before, query);  // lines 9, 10
  }
  recompute_indices<Config>(item);
  if (tile >= run.own()) warp.write();  // line 11
  warp.release_keys();
}

/// The tiles of a warpgroup. Machine is an ItemMachine.
template <class Config, class Machine>
SPARK_DEVICE void attend_runs(Machine& item, const BackwardParams& params) {
  constexpr int kWarpgroups = Config::kWarpgroups;
  const int warpgroup = item.uniform(item.warp()) / kWarpgroupWarps;
  RowsRing<Config> keys;
  RunCounts before;
  for (int i = 0; i < warpgroup; ++i) keys.advance();
  for (; !item.is_done(); item.advance()) {
    const KeyRun run = run_of_item(item, params, before);
    before = run.counts();
    // The warpgroups take tiles in turn, over all of the block's runs.
    const int turn = run.tiles_before(run.first()) % kWarpgroups;
    const int first = run.first() + (warpgroup - turn + kWarpgroups) % kWarpgroups;
    for (int tile = first; tile < run.end(); tile += kWarpgroups) {
      attend_tile<Config>(item, params, run, tile, keys);
      for (int i = 0; i < kWarpgroups; ++i) keys.advance();
    }
  }
}

/// The kernel.
template <class Config, class Machine>
SPARK_DEVICE void attention_backward_carried(Machine& machine, const BackwardParams& params) {
  const auto load = [&](auto& item) { load_run_items<Config>(item, params); };
  divide_block<Config>(machine, params, load,
                       [&](auto& item) { attend_runs<Config>(item, params); });
}

}  // namespace sparkbench::hopper
