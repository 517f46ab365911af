// Split-KV's combine kernels for a launch in which several blocks share a row's tiles
// (sparse_list.h), with the formulas of merge_passes.h.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/merge_passes.h"
#include "kernels/tile/sparse_list.h"

namespace sparkbench {

/// Grid: kMergeRows rows each of the split rows, heads, batch.
struct SplitRows {
  const SparseSplit* splits;
  int block_rows;  // of a part
  int seqlen;      // of the output; rows past it are not written
  int part_rows;   // in all splits
};

/// Forward: (O, LSE) of splits over disjoint keys.
struct MergePartsParams {
  SplitRows rows;
  int heads, head_chunks;
  ChunkedView<const Bits16> part_o;  // [batch, part_rows, heads, head_dim]
  const float* part_lse;             // [batch, heads, part_rows]
  ChunkedView<Bits16> o;
  float* lse;  // [batch, heads, seqlen]
};

/// Backward: gradients of splits, added in FP32 and rounded once.
struct SumPartsParams {
  SplitRows rows;
  int head_chunks;
  ChunkedView<const Bits16> part;  // [batch, part_rows, heads, head_dim]
  ChunkedView<Bits16> x;
};

/// A thread's row, its row in the first split, how many splits there are, and its first chunk.
struct PartRow {
  int batch, head, row, part_row, parts, chunk;
};
template <class Machine>
SPARK_DEVICE PartRow part_row(Machine& machine, const SplitRows& rows) {
  const int blocks_of_split = rows.block_rows / kMergeRows, block = machine.block(0);
  const SparseSplit* const split = rows.splits + block / blocks_of_split;
  const int thread = machine.thread();
  const int row = block % blocks_of_split * kMergeRows + thread / kLanesOfRow;
  return {machine.block(2),
          machine.block(1),
          load_of_list(machine, &split->first_row) + row,
          load_of_list(machine, &split->first_part_row) + row,
          load_of_list(machine, &split->parts),
          thread % kLanesOfRow};
}

template <class Element, class Machine>
SPARK_DEVICE void merge_parts(Machine& machine, const MergePartsParams& params) {
  const PartRow of = part_row(machine, params.rows);
  if (of.row >= params.rows.seqlen) return;
  const int part_rows = params.rows.part_rows, block_rows = params.rows.block_rows;
  const float* const lse =
      params.part_lse + lse_offset(of.batch, of.head, of.part_row, params.heads, part_rows);
  const auto lse_of = [&](int part) {
    return machine.template load_global<float>(lse + part * block_rows);
  };
  float most = -INFINITY, sum = 0.0f;
  for (int part = 0; part < of.parts; ++part) {
    const float value = lse_of(part);
    most = value > most ? value : most;
  }
  const float from = most == -INFINITY ? 0.0f : most;  // a NaN goes on into the sum
  const auto weight = [&](int part) { return machine.exp2((lse_of(part) - from) * kLog2E); };
  for (int part = 0; part < of.parts; ++part) sum += weight(part);
  if (of.chunk == 0) {
    machine.store_global(
        params.lse + lse_offset(of.batch, of.head, of.row, params.heads, params.rows.seqlen),
        sum == 0.0f ? -INFINITY : machine.fma(machine.log2(sum), kLn2, from));
  }
  const float inverse = sum == 0.0f ? 0.0f : machine.reciprocal(sum);
  for (int chunk = of.chunk; chunk < params.head_chunks; chunk += kLanesOfRow) {
    float o[kChunkHalves] = {};
    for (int part = 0; part < of.parts; ++part) {
      const Bits16* const other =
          params.part_o.at(of.batch, of.part_row + part * block_rows, of.head) +
          chunk * kChunkHalves;
      add_chunk<Element>(machine, machine.template load_global<Bits128>(other),
                         SPARK_PLANTED(kPartWeightLost, weight(part) * inverse, inverse), o);
    }
    machine.store_global(params.o.at(of.batch, of.row, of.head) + chunk * kChunkHalves,
                         chunk_of<Element>(machine, o));
  }
}

template <class Element, class Machine>
SPARK_DEVICE void sum_parts(Machine& machine, const SumPartsParams& params) {
  const PartRow of = part_row(machine, params.rows);
  if (of.row >= params.rows.seqlen) return;
  for (int chunk = of.chunk; chunk < params.head_chunks; chunk += kLanesOfRow) {
    float sum[kChunkHalves] = {};
    for (int part = 0; part < SPARK_PLANTED(kPartGradientLost, of.parts, of.parts - 1); ++part) {
      const Bits16* const other =
          params.part.at(of.batch, of.part_row + part * params.rows.block_rows, of.head) +
          chunk * kChunkHalves;
      add_chunk<Element>(machine, machine.template load_global<Bits128>(other), 1.0f, sum);
    }
    machine.store_global(params.x.at(of.batch, of.row, of.head) + chunk * kChunkHalves,
                         chunk_of<Element>(machine, sum));
  }
}

}  // namespace sparkbench
