// Kernels around the strided passes of a pattern (mask/pattern/mask_passes.h), each of which goes
// over all rows: what a backward pass reads, and the combination of several passes' results.
// ViewedRows is where a pass has the log-sum-exp of a token.
//
// Passes over disjoint keys with (O_i, LSE_i) combine to
//   LSE = log(sum(exp(LSE_i))),   O = sum(exp(LSE_i - LSE) O_i)
// as in split-KV (FlashAttention-2, section 2.3.1; flash decoding). Gradients are sums over the
// passes, each of which is given the combined O and LSE.
#pragma once

#include <cmath>

#include "kernels/base/ceil_divide.h"
#include "kernels/base/planted_fault.h"
#include "kernels/machine/machine.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/tile/log2e.h"

namespace sparkbench {

/// Passes that are merged, at most.
inline constexpr int kMostMerged = 4;

/// Rows of a pass, as its launches have them one after the other: each [entries, heads, lines]. The
/// entries are residues of a batch entry, or batch entries of a residue.
struct ViewedRows {
  int batch, heads;
  int stride, whole;  // residues below `whole` have `lines` tokens, others one less
  int lines;
  bool has_entries_of_batch;

  /// Index of head h of a batch entry's token.
  SPARK_HD std::size_t at(int b, int h, int token) const {
    const int line = token / stride, residue = token - line * stride;
    const bool is_whole = residue < whole;
    const int residues = is_whole ? whole : stride - whole;
    const int own_lines = is_whole ? lines : lines - 1;
    const int own_residue = is_whole ? residue : residue - whole;
    const std::size_t before = is_whole ? 0 : elements(whole, lines);
    const int entry = has_entries_of_batch ? own_residue * batch + b : b * residues + own_residue;
    return before +
           (static_cast<std::size_t>(entry) * static_cast<std::size_t>(heads) +
            static_cast<std::size_t>(h)) *
               static_cast<std::size_t>(own_lines) +
           static_cast<std::size_t>(line);
  }
  /// How many elements there are in that many residues of `of_lines` lines each.
  SPARK_HD std::size_t elements(int residues, int of_lines) const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(heads) *
           static_cast<std::size_t>(residues) * static_cast<std::size_t>(of_lines);
  }
};

/// Rows and threads of a block. kLanesOfRow threads share a row, each taking a chunk of 16 bytes at
/// a time.
inline constexpr int kMergeThreads = 128;
inline constexpr int kLanesOfRow = 8;
inline constexpr int kMergeRows = kMergeThreads / kLanesOfRow;

/// Tiles of kMergeRows rows, the heads of a tile one after the other, so that concurrent blocks
/// read adjacent memory, whose DRAM pages are open.
struct MergeBlocks {
  int heads;

  SPARK_HD int count(int seqlen) const { return ceil_divide(seqlen, kMergeRows) * heads; }
  SPARK_HD int block(int tile, int head) const { return tile * heads + head; }
  SPARK_HD int head(int block) const { return block % heads; }
  SPARK_HD int tile(int block) const { return block / heads; }
};

/// Forward: combines the passes. Grid: MergeBlocks, 1, batch.
struct MergeParams {
  int passes, heads, seqlen, head_chunks;
  ViewedRows rows[kMostMerged];
  const float* lse[kMostMerged];  // in the order of `rows`
  /// O of the second and later passes; the first pass's is in `o`.
  ChunkedView<const Bits16> more[kMostMerged - 1];
  ChunkedView<Bits16> o;
  float* whole_lse;  // [batch, heads, seqlen]
};

/// Backward: LSE in the order of a pass. Grid: tiles of kMergeThreads rows, heads, batch.
struct GatherParams {
  int heads, seqlen;
  ViewedRows rows;
  const float* whole_lse;
  float* lse;
};

/// Backward: x += the gradients of the later passes, in FP32, rounded once. Grid: MergeBlocks, 1,
/// batch.
struct SumParams {
  int parts, heads, seqlen, head_chunks;
  ChunkedView<const Bits16> more[kMostMerged - 1];
  ChunkedView<Bits16> x;
};

/// A thread's row, and its first chunk.
struct MergeRow {
  int batch, head, row, chunk;
};
template <class Machine>
SPARK_DEVICE MergeRow merge_row(Machine& machine, int heads) {
  const MergeBlocks blocks{heads};
  const int thread = machine.thread(), block = machine.block(0);
  return {machine.block(2), blocks.head(block),
          blocks.tile(block) * kMergeRows + thread / kLanesOfRow, thread % kLanesOfRow};
}

/// sum += weight * the 8 elements of a chunk.
template <class Element, class Machine>
SPARK_DEVICE void add_chunk(Machine& machine, const Bits128& chunk, float weight,
                            float (&sum)[kChunkHalves]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[2 * i] = machine.fma(weight, machine.template low_half<Element>(chunk.word[i]), sum[2 * i]);
    sum[2 * i + 1] =
        machine.fma(weight, machine.template high_half<Element>(chunk.word[i]), sum[2 * i + 1]);
  }
}
template <class Element, class Machine>
SPARK_DEVICE Bits128 chunk_of(Machine& machine, const float (&sum)[kChunkHalves]) {
  Bits128 chunk;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    chunk.word[i] = machine.template pack_halves<Element>(sum[2 * i], sum[2 * i + 1]);
  }
  return chunk;
}

template <class Element, class Machine>
SPARK_DEVICE void merge_passes(Machine& machine, const MergeParams& params) {
  const auto [batch, head, row, first_chunk] = merge_row(machine, params.heads);
  if (row >= params.seqlen) return;
  float weight[kMostMerged], most = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kMostMerged; ++i) {
    weight[i] = -INFINITY;
    if (i >= params.passes) continue;
    weight[i] =
        machine.template load_global<float>(params.lse[i] + params.rows[i].at(batch, head, row));
    most = weight[i] > most ? weight[i] : most;
  }
  const float from = most == -INFINITY ? 0.0f : most;  // a NaN goes on into the sum
#pragma unroll
  for (int i = 0; i < kMostMerged; ++i) {
    weight[i] = machine.exp2((weight[i] - from) * kLog2E);
    sum += weight[i];
  }
  if (first_chunk == 0) {
    machine.store_global(
        params.whole_lse +
            (static_cast<std::size_t>(batch) * static_cast<std::size_t>(params.heads) +
             static_cast<std::size_t>(head)) *
                static_cast<std::size_t>(params.seqlen) +
            static_cast<std::size_t>(row),
        sum == 0.0f ? -INFINITY : machine.fma(machine.log2(sum), kLn2, from));
  }
  if (params.passes == 1) return;
  const float inverse = sum == 0.0f ? 0.0f : machine.reciprocal(sum);
  for (int chunk = first_chunk; chunk < params.head_chunks; chunk += kLanesOfRow) {
    Bits16* const own = params.o.at(batch, row, head) + chunk * kChunkHalves;
    float o[kChunkHalves] = {};
    add_chunk<Element>(machine, machine.template load_global<Bits128>(own), weight[0] * inverse, o);
#pragma unroll
    for (int i = 1; i < kMostMerged; ++i) {
      if (i >= params.passes) continue;
      const Bits16* const other = params.more[i - 1].at(batch, row, head) + chunk * kChunkHalves;
      add_chunk<Element>(machine, machine.template load_global<Bits128>(other),
                         SPARK_PLANTED(kPassWeightLost, weight[i] * inverse, inverse), o);
    }
    machine.store_global(own, chunk_of<Element>(machine, o));
  }
}

/// One thread a row, kMergeThreads rows a block.
template <class Machine>
SPARK_DEVICE void gather_lse(Machine& machine, const GatherParams& params) {
  const int batch = machine.block(2), head = machine.block(1);
  const int row = machine.block(0) * kMergeThreads + machine.thread();
  if (row >= params.seqlen) return;
  const std::size_t of_head =
      SPARK_PLANTED(kPassLseOfFirstEntry, static_cast<std::size_t>(batch), std::size_t{0}) *
          static_cast<std::size_t>(params.heads) +
      static_cast<std::size_t>(head);
  machine.store_global(params.lse + params.rows.at(batch, head, row),
                       machine.template load_global<float>(
                           params.whole_lse + of_head * static_cast<std::size_t>(params.seqlen) +
                           static_cast<std::size_t>(row)));
}

template <class Element, class Machine>
SPARK_DEVICE void sum_gradients(Machine& machine, const SumParams& params) {
  const auto [batch, head, row, first_chunk] = merge_row(machine, params.heads);
  if (row >= params.seqlen) return;
  for (int chunk = first_chunk; chunk < params.head_chunks; chunk += kLanesOfRow) {
    Bits16* const own = params.x.at(batch, row, head) + chunk * kChunkHalves;
    float sum[kChunkHalves] = {};
    add_chunk<Element>(machine, machine.template load_global<Bits128>(own), 1.0f, sum);
#pragma unroll  // or each thread has a copy of `more`
    for (int i = 0; i < kMostMerged - 1; ++i) {
      if (i >= SPARK_PLANTED(kPassGradientLost, params.parts, params.parts - 1)) continue;
      const Bits16* const other = params.more[i].at(batch, row, head) + chunk * kChunkHalves;
      add_chunk<Element>(machine, machine.template load_global<Bits128>(other), 1.0f, sum);
    }
    machine.store_global(own, chunk_of<Element>(machine, sum));
  }
}

}  // namespace sparkbench
