// Shared by the forward kernel's schedules: a warp's coordinates, and how a block begins and
// ends.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/forward_block.h"
#include "kernels/volta/forward/config.h"
#include "kernels/volta/padding.h"
#include "kernels/volta/tile/output_tile.h"

namespace sparkbench::volta {

/// The distance between a warp's groups of rows.
template <class Config>
constexpr int groups_apart() {
  static_assert(!Config::kSpreadsRows || Config::kBlockM == kRowGroups * Config::kBlockN,
                "one tile at most is a group's alone");
  return Config::kSpreadsRows ? Config::kBlockN : kGridRows;
}
template <class Config>
inline constexpr int kGroupsApart = groups_apart<Config>();

/// A warp's first row, from its block's first on.
template <class Config, class Machine>
SPARK_DEVICE int first_row_of_warp(Machine& machine) {
  return (Config::kSpreadsRows ? kGridRows : kWarpRows) * (machine.warp() / Config::kColumnWarps);
}

/// From the first row of this warp to its last; some may be past the last of all.
template <class Config, class Machine>
SPARK_DEVICE Range rows_of_warp(Machine& machine, const ForwardParams& params) {
  const int first_row =
      locate_block<Config>(machine, params).first_row + first_row_of_warp<Config>(machine);
  return {first_row, first_row + kGroupsApart<Config> + kGridRows};
}

/// The keys that some row of them sees.
template <class Config, class Machine>
SPARK_DEVICE Range keys_of_warp(Machine& machine, const ForwardParams& params) {
  if constexpr (Config::kIsSparse) return keys_of_block<Config>(machine, params);
  return mask_of_block<Config>(machine, params).keys_of_any(rows_of_warp<Config>(machine, params));
}

/// The keys that some row of one of its groups sees.
template <class Config, int kGroup, class Machine>
SPARK_DEVICE Range keys_of_group(Machine& machine, const ForwardParams& params) {
  const int first_row = rows_of_warp<Config>(machine, params).begin + kGroup * kGroupsApart<Config>;
  return mask_of_block<Config>(machine, params).keys_of_any({first_row, first_row + kGridRows});
}

/// A tile of a pattern's list in one number, because only one register is left: its first key,
/// whether it is partial (kCutTile), and which halves of it the warp sees (the highest two bits).
template <class Config, class Machine>
SPARK_DEVICE int load_listed_tile(Machine& machine, const ForwardParams& params, int place) {
  const auto tile =
      machine.template load_global<Bits64>(tile_of_place<Config::kBlockN>(params.sparse, place));
  const int warp = machine.warp() / Config::kColumnWarps;
  return static_cast<int>(tile.word[0] | (tile.word[1] >> (2 * warp) & kBothHalves) << 30);
}
SPARK_DEVICE int halves_of_tile(int tile) {
  return static_cast<int>(static_cast<std::uint32_t>(tile) >> 30);
}
/// Where the block's sequence begins among the keys, and the end of the keys that the block sees:
/// all that an iteration of the loop needs of them.
struct KeyWalk {
  int first_k, end;
};
template <class Config, class Machine>
SPARK_DEVICE KeyWalk walk_of_block(Machine& machine, const ForwardParams& params) {
  static_assert(Config::kIsPacked, "the others compute it anew from their parameters");
  const WorkWalk walk = load_work_walk(machine, params.items);
  return {walk.first, walk.end};
}

/// The chunk of K or V from which this lane copies the tile at `first_key`.
template <class Config, class Machine>
SPARK_DEVICE std::uint32_t staged_chunk(Machine& machine, const ForwardParams& params,
                                        const ChunkedView<const Half>& tensor, int first_k,
                                        int first_key) {
  using Staged = typename Config::StagedKeys;
  if constexpr (Config::kIsPacked) {
    return tensor.chunk(0, first_k + first_key + Staged::first_row(machine),
                        params.groups.key_head(machine.block(0))) +
           static_cast<std::uint32_t>(Staged::column_chunk(machine));
  } else if constexpr (Config::kIsSparse) {
    return tensor.chunk(machine.block(2), first_key + Staged::first_row(machine),
                        params.groups.key_head(machine.block(0))) +
           static_cast<std::uint32_t>(Staged::column_chunk(machine));
  } else {
    const ForwardBlock block = locate_block<Config>(machine, params);
    return tensor.chunk(SPARK_PLANTED(kKeysOfFirstEntry, block.batch, 0),
                        first_key + Staged::first_row(machine), block.key_head(params)) +
           static_cast<std::uint32_t>(Staged::column_chunk(machine));
  }
}

/// The end of the keys that are loaded: of those that the block sees, or of the sequence.
template <class Config, class Machine>
SPARK_DEVICE int end_of_keys(Machine& machine, const ForwardParams& params, const KeyWalk& walk) {
  if constexpr (Config::kIsPacked) {
    return walk.end;
  } else if constexpr (Config::kIsSparse) {
    return params.mask.seqlen_k;
  } else {
    return keys_of_block<Config>(machine, params).end;
  }
}

/// Loads a tile of K or V, those of its keys that the block sees, to registers. All addresses are
/// computed here, so that none takes a register in the loop. Only varlen kernels read `walk`.
template <class Config, class Machine>
SPARK_DEVICE void load_keys(Machine& machine, const ForwardParams& params, const KeyWalk& walk,
                            const ChunkedView<const Half>& tensor, int first_key,
                            typename Config::StagedKeys& staged) {
  const int first_k = Config::kIsPacked ? walk.first_k : 0;
  const Half* const chunk = machine.opaque(
      tensor.at_chunk(staged_chunk<Config>(machine, params, tensor, first_k, first_key)));
  staged.load_from_chunk(
      machine, chunk, tensor.row_stride(), Config::StagedKeys::first_row(machine),
      copied_rows<Config, typename Config::StagedKeys>(
          machine, params, end_of_keys<Config>(machine, params, walk) - first_key),
      copies_last<Config, typename Config::StagedKeys>(machine, params));
}

/// Copies the block's rows of Q to shared memory, a warp's rows adjacent. Each warp fills its own
/// rows, as of every tile.
template <class Config, class Machine>
SPARK_DEVICE void stage_queries(Machine& machine, const ForwardParams& params,
                                typename Config::QueryTile& tile) {
  const ForwardBlock block = locate_block<Config>(machine, params);
  using Staged = StagedRows<typename Config::QueryTile, Config::kWarps>;
  const bool has_last = copies_last<Config, Staged>(machine, params);
  Staged q;
  const int rows = copied_rows<Config, Staged>(
      machine, params, mask_of_block<Config>(machine, params).seqlen_q - block.first_row);
  const TensorRows of_block{params.q.at(block.batch, block.first_q + block.first_row, block.head),
                            params.q.row_stride(), rows};
  if constexpr (Config::kSpreadsRows) {
    q.load_groups(machine, of_block.from(first_row_of_warp<Config>(machine)), kGroupsApart<Config>,
                  has_last);
  } else {
    q.load(machine, of_block, has_last);
  }
  q.store(machine, tile);
}

/// A copy of a value for each row that a lane holds. If the values themselves are passed on, nvcc
/// 11.8 makes other code than kernels/volta/cycles.json measured.
template <int kRows>
SPARK_DEVICE void copy_rows(const float (&from)[kRows], float (&to)[kRows]) {
#pragma unroll
  for (int slot = 0; slot < kRows; ++slot) to[slot] = from[slot];
}

/// The last line for one 16-row group: O / l, rounded to fp16, from chunk first_chunk on, and from
/// chunk 0 on the log-sum-exp.
template <class Config, class Machine>
SPARK_DEVICE void write_output(
    Machine& machine, const ForwardParams& params, const ForwardBlock& block, int first_row,
    const FinishedRows<typename Config::Layout, typename Config::Scale>& rows,
    const AccumulatorFragment<Config::kAccumulator> (&o)[Config::kOutputGroups],
    WarpOutputTile<Config>& tile, int first_chunk = 0) {
  using Layout = typename Config::Layout;
  const int seqlen_q = mask_of_block<Config>(machine, params).seqlen_q;
  const bool is_part = block.part_row != kNoPart;
  const int row_of_part = block.part_row + first_row - block.first_row;
  float l[Layout::kRowsPerLane], factor[Layout::kRowsPerLane];
  normalization<Config>(machine, params, rows, l, factor);
  float factor_of_o[Layout::kRowsPerLane];
  copy_rows(factor, factor_of_o);
  store_output<Config::kAccumulator>(machine, tile, factor_of_o, o);
  machine.sync_warp();
  const int chunks = written_chunks<Config, Config::kTileColumns / 8>(params, first_chunk);
  write_rows(
      machine, tile,
      OutputRows{(is_part ? params.part_o.at(block.batch, row_of_part, block.head)
                          : params.o.at(block.batch, block.first_q + first_row, block.head)) +
                     kChunkHalves * first_chunk,
                 is_part ? params.part_o.row_stride() : params.o.row_stride(),
                 SPARK_PLANTED(kLastPartialRowsNotStored, seqlen_q - first_row,
                               (seqlen_q - first_row) / 16 * 16),
                 chunks});
  if (first_chunk != 0) return;

  const int lane = machine.lane();
  const int row = first_row + grid_operand_row(lane);
  const float m = Layout::of_operand_row(lane, rows.m);
  const float lse = machine.fma(SPARK_PLANTED(kLseWithoutMaximum, m, 0.0f), params.scale,
                                kLn2 * machine.log2(Layout::of_operand_row(lane, l)));
  if (row < seqlen_q && grid_column_half(lane) == 0) {
    if (is_part) {
      machine.store_global(
          params.part_lse + lse_offset(block.batch, block.head, row_of_part + row - first_row,
                                       params.heads, params.part_rows),
          lse);
    } else {
      machine.store_global(params.lse + lse_offset(block.batch, block.head,
                                                   SPARK_PLANTED(kPackedLseOfFirstSequence,
                                                                 block.first_q + row, row),
                                                   params.heads, params.mask.seqlen_q),
                           lse);
    }
  }
}

}  // namespace sparkbench::volta
