// What the kernel of dK and dV does where blocks hand the sums of dQ on (dq_relay.h).
#pragma once

#include "kernels/volta/backward_block.h"
#include "kernels/volta/dq_relay.h"
#include "kernels/volta/padding.h"
#include "kernels/volta/tile/output_tile.h"

namespace sparkbench::volta {

template <class Config>
SPARK_DEVICE RelayGeometry relay_geometry(const BackwardParams& params) {
  static_assert(Config::kStep == kRelayStep, "slots are of these");
  return {params.mask, params.relay, Config::kBlockKeys};
}

/// The slot of the step that has a query, of a member of the group of heads that read the keys.
template <class Config, class Machine>
SPARK_DEVICE DqSlot slot_of_query(Machine& machine, const BackwardParams& params, int member,
                                  int query) {
  const int head = machine.block(2) * params.relay.key_heads + machine.block(1);
  const int step = static_cast<int>(static_cast<unsigned>(query) / Config::kStep);
  return dq_slot(params.relay, params.groups.size, head, member, step);
}

/// The sums of 16 queries, of a slot's, and 32 of their columns.
template <class Config>
SPARK_DEVICE float* slot_sums(const BackwardParams& params, std::uint32_t slot, int query,
                              int columns, int column_block) {
  constexpr int kGroups = Config::kStep / kGridRows;
  const std::uint32_t group =
      slot * kGroups + static_cast<std::uint32_t>(query) % Config::kStep / kGridRows;
  return params.workspace.dq_sums + sum_block_offset(group, columns, column_block);
}

/// How many blocks of keys add to a step's dQ before this one.
template <class Config, class Machine>
SPARK_DEVICE std::uint32_t turns_before(Machine& machine, const BackwardParams& params, int query) {
  return static_cast<std::uint32_t>(relay_geometry<Config>(params).last_block(query) -
                                    relayed_block(machine, params));
}

/// Whether these have: not below 0. By all lanes of a warp.
template <class Config, class Machine>
SPARK_DEVICE int look_for_dq(Machine& machine, const BackwardParams& params, int member,
                             int query) {
  const DqSlot slot = slot_of_query<Config>(machine, params, member, query);
  return machine.look_for_turn(params.relay.turns + slot.slot,
                               slot.first_turn + turns_before<Config>(machine, params, query));
}

/// Waits until these have, where `waits`. By all lanes of a warp.
template <class Config, class Machine>
SPARK_DEVICE void await_dq(Machine& machine, const BackwardParams& params, int member, int query,
                           bool waits) {
  const DqSlot slot = slot_of_query<Config>(machine, params, member, query);
  machine.await_turn(params.relay.turns + slot.slot,
                     slot.first_turn + turns_before<Config>(machine, params, query), waits);
}

/// Of a step that is the first of its queries' sums: a warp's share of them is zeros. Where the
/// warp has seen or awaited that this is its turn, and before the team meets.
template <class Config, class Machine>
SPARK_DEVICE void clear_if_first(Machine& machine, const BackwardParams& params, int member,
                                 int query, int warp_of_team) {
  if (turns_before<Config>(machine, params, query) != 0) return;
  constexpr int kFloats = Config::kStep * Config::kHeadDim / Config::kTeamWarps;
  constexpr int kFloatsOfLane = sizeof(Bits128) / sizeof(float);
  const std::uint32_t slot = slot_of_query<Config>(machine, params, member, query).slot;
  float* const sums = slot_sums<Config>(params, slot, query, Config::kHeadDim, 0) +
                      kFloats * warp_of_team + kFloatsOfLane * machine.lane();
#pragma unroll
  for (int i = 0; i < kFloats; i += 32 * kFloatsOfLane) machine.store_global(sums + i, Bits128{});
}

/// Lets the next block of keys add to it, if there is one, where `passes`, behind a barrier.
template <class Config, class Machine>
SPARK_DEVICE void hand_on_dq(Machine& machine, const BackwardParams& params, int member, int query,
                             bool passes) {
  const bool is_last =
      relayed_block(machine, params) == relay_geometry<Config>(params).first_block(query);
  const DqSlot slot = slot_of_query<Config>(machine, params, member, query);
  machine.pass_turn(params.relay.turns + slot.slot,
                    slot.first_turn + turns_before<Config>(machine, params, query) + 1,
                    passes && !is_last);
}

/// dQ of 16 queries.
template <class Config>
using RelayedDq = AccumulatorFragment<Accumulator::kFp32>[Config::kHeadDim / kGridColumns];

/// Zeros of rows that are not wanted: what a branch loads costs more registers.
template <class Config, class Machine>
SPARK_DEVICE void load_finished_dq(Machine& machine, const BackwardParams& params, int member,
                                   int row, bool is_wanted, RelayedDq<Config>& dq) {
  await_dq<Config>(machine, params, member, row / Config::kStep * Config::kStep, is_wanted);
  const std::uint32_t slot = slot_of_query<Config>(machine, params, member, row).slot;
  const float* const sums =
      slot_sums<Config>(params, slot, row, Config::kHeadDim, 0) + machine.lane();
#pragma unroll
  for (int i = 0; i < Config::kHeadDim / 2; ++i) {
    dq[i / 8].element[i % 8] =
        is_wanted ? machine.template load_global<float>(sums + 32 * i) : 0.0f;
  }
}

/// dq = fp16(scale * sums / (1 - dropout_p)) of `rows`, of all heads that read the keys, a warp 16
/// rows at a time, of which `dq` has the first.
template <class Config, class Output, class Machine>
SPARK_DEVICE void write_finished_dq(Machine& machine, const BackwardParams& params,
                                    const Range& rows, Output& tile, RelayedDq<Config>& dq) {
  constexpr int kColumns = 64;  // that the tile has
  float factor[GridLayout<Config::kAccumulator>::kRowsPerLane];
#pragma unroll
  for (float& value : factor) value = params.scale * params.dropout.keep_scale;
  const int first_row = rows.begin + kGridRows * machine.warp();
#pragma unroll 1
  for (int member = 0; member < params.groups.size; ++member) {
    const int head = machine.block(1) * params.groups.size + member;
#pragma unroll 1
    for (int row = first_row; row < rows.end; row += kGridRows * Config::kWarps) {
      if (member != 0 || row != first_row) {
        load_finished_dq<Config>(machine, params, member, row, true, dq);
      }
#pragma unroll
      for (int half = 0; half < Config::kHeadDim / kColumns; ++half) {
        AccumulatorFragment<Accumulator::kFp32> of_half[kColumns / kGridColumns];
#pragma unroll
        for (int i = 0; i < kColumns / kGridColumns; ++i) {
          of_half[i] = dq[kColumns / kGridColumns * half + i];
        }
        store_output<Config::kAccumulator>(machine, tile, factor, of_half);
        machine.sync_warp();
        write_rows(machine, tile,
                   OutputRows{params.dq.at(machine.block(2), row, head) + kColumns * half,
                              params.dq.row_stride(), params.mask.seqlen_q - row,
                              written_chunks<Config, kColumns / kChunkHalves>(
                                  params, kColumns / kChunkHalves * half)});
        machine.sync_warp();
      }
    }
  }
}

/// Lets other steps have the slots of `rows`.
template <class Config, class Machine>
SPARK_DEVICE void free_slots(Machine& machine, const BackwardParams& params, const Range& rows) {
  machine.barrier();
  const int steps = (rows.end - rows.begin + Config::kStep - 1) / Config::kStep;
#pragma unroll 1
  for (int i = machine.thread(); i < steps * params.groups.size; i += Config::kThreads) {
    const DqSlot slot =
        slot_of_query<Config>(machine, params, i / steps, rows.begin + Config::kStep * (i % steps));
    machine.pass_turn(params.relay.turns + slot.slot, next_first_turn(params.relay, slot), true);
  }
}

}  // namespace sparkbench::volta
