// The launch parameters of the Volta backward kernels: the same on a GPU and on the emulated
// machine.
#pragma once

#include "kernels/base/sample.h"
#include "kernels/problem/head_groups.h"
#include "kernels/problem/tensors.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/tile/walk.h"
#include "kernels/volta/backward/dq_relay.h"
#include "kernels/volta/backward/walk.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench::volta {

/// The workspace rounds the rows of a head up to a multiple of this, of which every kernel's blocks
/// of queries are divisors.
inline constexpr int kWorkspaceBlock = kSampleRows;

/// Columns that a row of dQ has there.
SPARK_HD int sum_columns(int head_chunks) { return (head_chunks + 3) / 4 * 32; }

/// Rows of the workspace for each head.
SPARK_HD int workspace_rows(int seqlen_q) {
  return (seqlen_q + kWorkspaceBlock - 1) / kWorkspaceBlock * kWorkspaceBlock;
}

// The sums of dQ lie in the workspace as the accumulators of the blocks that add to them, so that
// an atomic instruction adds to 128 consecutive bytes. Queries are rounded up to whole steps.
//   [batch * heads][query / 16][column / 32][element 0..15][lane]
// Element 8f + i is element i of column group f (matmul_probabilities) of 16 queries, 32 columns.
// Columns are rounded up to 32; what is past head_dim is a sum of zeros.

/// Sums of 16 queries and 32 columns.
inline constexpr int kSumElements = 16;
inline constexpr int kSumBlock = 32 * kSumElements;

/// First sum of a block of 16 queries and 32 columns.
SPARK_HD std::size_t sum_block_offset(std::uint32_t query_group, int columns, int column_block) {
  const std::uint32_t block = query_group * static_cast<std::uint32_t>(columns / 32) +
                              static_cast<std::uint32_t>(column_block);
  return static_cast<std::size_t>(block) * kSumBlock;
}

/// The chunk of a row of dQ that a lane's element i is in.
SPARK_HD int sum_chunk(int lane, int column_block, int i) {
  return 4 * column_block + 2 * grid_column_half(lane) + (i >> 2);
}

/// Where a lane's first element of half a block (matmul_probabilities) is, from the first sum of a
/// block on: its column 8h + 4c + r is that of column half 0 and group c.
SPARK_HD int half_block_sum(int lane) { return 32 * 8 * grid_column_half(lane) + (lane & ~4); }

/// First workspace row of a varlen sequence (kernels/problem/packed.h) among those of a head. No
/// two sequences share a workspace block.
SPARK_HD int first_workspace_row(int first_q, int sequence) {
  return first_q / kWorkspaceBlock * kWorkspaceBlock + kWorkspaceBlock * sequence;
}

/// Memory that the backward pass needs in addition to its tensors, linear in seqlen_q. For varlen
/// `batch` is 1.
struct BackwardWorkspace {
  RowStatistics*
      statistics;     // [batch * heads, workspace_rows], 16 rows in statistics_place's order
  float* dq_sums;     // as above, zeros at launch, or those of slots; null when deterministic
  int rows_per_head;  // workspace_rows()

  /// Statistics of a head's rows from `query` on. The row fits 32 bits: more would not fit in
  /// memory.
  SPARK_HD RowStatistics* statistics_of(std::uint32_t batch_head, int query) const {
    return statistics + row(batch_head, query);
  }
  /// Sums of the 16 rows from `query` on and 32 of their columns.
  SPARK_HD float* dq_sums_of(std::uint32_t batch_head, int query, int columns,
                             int column_block) const {
    return dq_sums + sum_block_offset(row(batch_head, query) / kGridRows, columns, column_block);
  }
  /// Index among the rows of all heads.
  SPARK_HD std::uint32_t row(std::uint32_t batch_head, int query) const {
    return batch_head * static_cast<std::uint32_t>(rows_per_head) +
           static_cast<std::uint32_t>(query);
  }
};

struct BackwardParams {
  ChunkedView<const Bits16> q, k, v, o, d_o;
  const float* lse;
  ChunkedView<Bits16> dq, dk, dv;
  BackwardWorkspace workspace;
  int heads;
  HeadGroups groups;
  GroupWalk walk;
  KeyMask mask;
  float scale;       // of the scores
  float scale_log2;  // scale * log2(e)
  Dropout dropout;
  int query_begin, query_end;  // only these queries take part: all of them but in a sampled check,
                               // where both are multiples of kWorkspaceBlock, or the end
  int head_chunks;             // of a tensor's row
  const DropoutOffset* dropout_offset;    // null: dropout.offset
  const WorkItem* query_items = nullptr;  // varlen; the lengths in `mask` are totals
  const WorkItem* key_items = nullptr;
  SparseLists sparse_queries = {};  // block-sparse; `mask` is then full: blocks of queries,
  SparseLists sparse_keys = {};     // and of keys
  /// Partial results of splits (sparse_list.h): [batch, rows, heads, head_dim]; dk, dv by key head.
  ChunkedView<Bits16> part_dq = {}, part_dk = {}, part_dv = {};
  DqRelay relay = {};  // kRelaysDq
};

/// Throws std::invalid_argument as chunked_view() does.
inline BackwardParams backward_params(const Problem& problem, const BackwardTensors& tensors,
                                      const BackwardWorkspace& workspace) {
  const auto queries = [&](const char* name, const auto& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_q, problem.heads,
                        problem.head_dim);
  };
  const auto keys = [&](const char* name, const auto& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_k, problem.key_heads(),
                        problem.head_dim);
  };
  return {queries("q", tensors.q),
          keys("k", tensors.k),
          keys("v", tensors.v),
          queries("o", tensors.o),
          queries("d_o", tensors.d_o),
          tensors.lse,
          queries("dq", tensors.dq),
          keys("dk", tensors.dk),
          keys("dv", tensors.dv),
          workspace,
          problem.heads,
          make_head_groups(problem.heads, problem.key_heads()),
          group_walk(problem.seqlen_q, 0, problem.group_size()),
          problem.key_mask(),
          problem.scale(),
          problem.scale() * kLog2E,
          problem.dropout(),
          0,
          problem.seqlen_q,
          problem.head_dim / kChunkHalves,
          tensors.dropout_offset};
}

}  // namespace sparkbench::volta
