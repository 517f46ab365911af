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

/// Where a group of a block's rows of O and their LSE go: to the tensors, or, in a split, to its
/// partial results.
struct RowSink {
  const ForwardParams& params;
  const ForwardBlock& block;
  bool is_part;
  int row_of_part, first_row;  // the group's first, among partial results and in the sequence

  SPARK_DEVICE Bits16* first() const {
    return is_part ? params.part_o.at(block.batch, row_of_part, block.head)
                   : params.o.at(block.batch, block.first_q + first_row, block.head);
  }
  SPARK_DEVICE int row_stride() const {
    return is_part ? params.part_o.row_stride() : params.o.row_stride();
  }
  template <class Machine>
  SPARK_DEVICE void store_lse(Machine& machine, int row, float lse) const {
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
};

/// The last line for one 16-row group: O / l, rounded to fp16, from chunk first_chunk on, and from
/// chunk 0 on the log-sum-exp.
template <class Config, class Machine>
SPARK_DEVICE void write_output(
    Machine& machine, const ForwardParams& params, const ForwardBlock& block, int part_row,
    int first_row, const FinishedRows<typename Config::Layout, typename Config::Scale>& rows,
    const AccumulatorFragment<Config::kAccumulator> (&o)[Config::kOutputGroups],
    WarpOutputTile<Config>& tile, int first_chunk) {
  using Layout = typename Config::Layout;
  const int seqlen_q = mask_of_block<Config>(machine, params).seqlen_q;
  const RowSink sink{params, block, part_row != kNoPart, part_row + first_row - block.first_row,
                     first_row};
  float l[Layout::kRowsPerLane], factor[Layout::kRowsPerLane];
  normalization<Config>(machine, params, rows, l, factor);
  float factor_of_o[Layout::kRowsPerLane];
  copy_rows(factor, factor_of_o);
  store_output<Config::kAccumulator>(machine, tile, factor_of_o, o);
  machine.sync_warp();
  const int chunks = written_chunks<Config, Config::kTileColumns / 8>(params, first_chunk);
  write_rows(machine, tile,
             OutputRows{sink.first() + kChunkHalves * first_chunk, sink.row_stride(),
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
    sink.store_lse(machine, row, lse);
  }
}

}  // namespace sparkbench::volta
