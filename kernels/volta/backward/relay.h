// The dK/dV kernel's use of the dQ semaphore (dq_relay.h).
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/volta/backward/block.h"
#include "kernels/volta/backward/dq_relay.h"
#include "kernels/volta/padding.h"
#include "kernels/volta/tile/output_tile.h"

namespace sparkbench::volta {

template <class Config>
SPARK_DEVICE RelayGeometry relay_geometry(const BackwardParams& params) {
  static_assert(Config::kStep == kRelayStep, "slots are of these");
  return {params.mask, params.relay.last_key, Config::kBlockKeys};
}

/// Where the sums of a step's queries are while blocks add to them: in a slot.
template <class Config>
struct SlotSums {
  std::uint32_t slot;
  int first_query;

  /// The dQ sums of 16 queries, from `query` on, in 32 columns: those of block `column_block`.
  SPARK_DEVICE float* at(const BackwardParams& params, int query, int columns,
                         int column_block) const {
    constexpr int kGroups = Config::kStep / kGridRows;
    const std::uint32_t group =
        slot * kGroups + static_cast<std::uint32_t>(query) % Config::kStep / kGridRows;
    return params.workspace.dq_sums + sum_block_offset(group, columns, column_block);
  }
};

/// A step under the dQ semaphore: the queries from `query` on, of one query head of the group that
/// reads the keys. Computed wherever it is used, so that it costs no register.
template <class Config, class Machine>
class RelayStep {
 public:
  SPARK_DEVICE RelayStep(Machine& machine, const BackwardParams& params, int member, int query)
      : machine_(machine), params_(params), member_(member), query_(query) {}

  SPARK_DEVICE DqSlot slot() const {
    const int head = machine_.block(2) * params_.relay.key_heads + machine_.block(1);
    const int step = static_cast<int>(static_cast<unsigned>(query_) / Config::kStep);
    return dq_slot(params_.relay, params_.groups.size, head, member_, step);
  }
  /// How many key blocks add to the step's dQ before this one.
  SPARK_DEVICE std::uint32_t turns_before() const {
    return static_cast<std::uint32_t>(relay_geometry<Config>(params_).last_block(query_) -
                                      relayed_block(machine_, params_));
  }
  /// Whether no key block adds after this one.
  SPARK_DEVICE bool is_last() const {
    return relayed_block(machine_, params_) == relay_geometry<Config>(params_).first_block(query_);
  }

 private:
  Machine& machine_;
  const BackwardParams& params_;
  int member_, query_;
};

/// How many turns ago it became this block's turn to add to a step's dQ; negative: not yet. Called
/// by all lanes of a warp.
template <class Config, class Machine>
SPARK_DEVICE int look_for_dq(Machine& machine, const BackwardParams& params,
                             const RelayStep<Config, Machine>& step) {
  const DqSlot slot = step.slot();
  return machine.look_for_turn(params.relay.turns + slot.slot,
                               slot.first_turn + step.turns_before());
}

/// If `waits`, waits until it is this block's turn. Called by all lanes of a warp.
template <class Config, class Machine>
SPARK_DEVICE void await_dq(Machine& machine, const BackwardParams& params,
                           const RelayStep<Config, Machine>& step, bool waits) {
  const DqSlot slot = step.slot();
  machine.await_turn(params.relay.turns + slot.slot, slot.first_turn + step.turns_before(),
                     SPARK_PLANTED(kRelayTurnNotAwaited, waits, false));
}

/// If this block is the first to add to a step's sums, zeroes this warp's share of them. Call it
/// after the warp has seen or awaited the turn, and before the team's barrier.
template <class Config, class Machine>
SPARK_DEVICE void clear_if_first(Machine& machine, const BackwardParams& params,
                                 const RelayStep<Config, Machine>& step, int query,
                                 int warp_of_team) {
  if (SPARK_PLANTED(kRelaySumsNotCleared, step.turns_before() != 0, true)) return;
  constexpr int kFloats = Config::kStep * Config::kHeadDim / Config::kTeamWarps;
  constexpr int kFloatsOfLane = sizeof(Bits128) / sizeof(float);
  const std::uint32_t slot = step.slot().slot;
  float* const sums = SlotSums<Config>{slot, query}.at(params, query, Config::kHeadDim, 0) +
                      kFloats * warp_of_team + kFloatsOfLane * machine.lane();
#pragma unroll
  for (int i = 0; i < kFloats; i += 32 * kFloatsOfLane) machine.store_global(sums + i, Bits128{});
}

/// If `passes`, gives the turn to the next key block, if there is one. Call it after a barrier.
template <class Config, class Machine>
SPARK_DEVICE void hand_on_dq(Machine& machine, const BackwardParams& params,
                             const RelayStep<Config, Machine>& step, bool passes) {
  const bool is_last = step.is_last();
  const DqSlot slot = step.slot();
  machine.pass_turn(params.relay.turns + slot.slot, slot.first_turn + step.turns_before() + 1,
                    passes && !is_last);
}

/// dQ of 16 queries.
template <class Config>
using RelayedDq = AccumulatorFragment<Accumulator::kFp32>[Config::kHeadDim / kGridColumns];

/// The sums of 16 queries from `row` on, of a query head of the group, once it is this block's
/// turn. Zeros unless `is_wanted`: loading them in a branch costs more registers.
template <class Config, class Machine>
SPARK_DEVICE void load_finished_dq(Machine& machine, const BackwardParams& params, int member,
                                   int row, bool is_wanted, RelayedDq<Config>& dq) {
  const RelayStep<Config, Machine> step(machine, params, member,
                                        row / Config::kStep * Config::kStep);
  await_dq(machine, params, step, is_wanted);
  const std::uint32_t slot = step.slot().slot;
  const float* const sums =
      SlotSums<Config>{slot, row}.at(params, row, Config::kHeadDim, 0) + machine.lane();
#pragma unroll
  for (int i = 0; i < Config::kHeadDim / 2; ++i) {
    dq[i / 8].element[i % 8] =
        is_wanted ? machine.template load_global<float>(sums + 32 * i) : 0.0f;
  }
}

/// dq = fp16(factor * sums) of 16 rows. rows_from(column, chunks) returns dQ's rows from a column
/// on, with so many chunks to write.
template <class Config, class Output, class Machine, class RowsFrom>
SPARK_DEVICE void write_finished_rows(
    Machine& machine, const BackwardParams& params,
    const float (&factor)[GridLayout<Config::kAccumulator>::kRowsPerLane], Output& tile,
    const RelayedDq<Config>& dq, RowsFrom rows_from) {
  constexpr int kColumns = 64;  // that the tile has
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
               rows_from(kColumns * half, written_chunks<Config, kColumns / kChunkHalves>(
                                              params, kColumns / kChunkHalves * half)));
    machine.sync_warp();
  }
}

/// The factor from sums to dQ, scale / (1 - dropout_p), for each of a lane's rows.
template <class Config>
SPARK_DEVICE void set_dq_factor(const BackwardParams& params,
                                float (&factor)[GridLayout<Config::kAccumulator>::kRowsPerLane]) {
#pragma unroll
  for (float& value : factor) value = params.scale * params.dropout.keep_scale;
}

/// Writes dQ of the queries `rows`, whose sums are complete, for all heads that read the keys. A
/// warp writes 16 rows at a time; `dq` has the first.
template <class Config, class Output, class Machine>
SPARK_DEVICE void write_finished_dq(Machine& machine, const BackwardParams& params,
                                    const Range& rows, Output& tile, RelayedDq<Config>& dq) {
  float factor[GridLayout<Config::kAccumulator>::kRowsPerLane];
  set_dq_factor<Config>(params, factor);
  const int first_row = rows.begin + kGridRows * machine.warp();
#pragma unroll 1
  for (int member = 0; member < params.groups.size; ++member) {
    const int head = machine.block(1) * params.groups.size + member;
#pragma unroll 1
    for (int row = first_row; row < rows.end; row += kGridRows * Config::kWarps) {
      if (member != 0 || row != first_row) {
        load_finished_dq<Config>(machine, params, member, row, true, dq);
      }
      write_finished_rows<Config>(machine, params, factor, tile, dq, [&](int column, int chunks) {
        return OutputRows{params.dq.at(machine.block(2), row, head) + column,
                          params.dq.row_stride(), params.mask.seqlen_q - row, chunks};
      });
    }
  }
}

/// Frees the slots of `rows` for other steps.
template <class Config, class Machine>
SPARK_DEVICE void free_slots(Machine& machine, const BackwardParams& params, const Range& rows) {
  machine.barrier();
  const int steps = (rows.end - rows.begin + Config::kStep - 1) / Config::kStep;
#pragma unroll 1
  for (int i = machine.thread(); i < steps * params.groups.size; i += Config::kThreads) {
    const DqSlot slot = RelayStep<Config, Machine>(machine, params, i / steps,
                                                   rows.begin + Config::kStep * (i % steps))
                            .slot();
    machine.pass_turn(params.relay.turns + slot.slot, next_first_turn(params.relay, slot), true);
  }
}

}  // namespace sparkbench::volta
