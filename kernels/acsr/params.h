// What the kernels of the chain are launched with: the same on a GPU and on the emulated machine.
#pragma once

#include "kernels/acsr/rows_of_mask.h"
#include "kernels/head_groups.h"
#include "kernels/tensors.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::acsr {

/// Blocks of rows are grid axis x, heads axis y, batch entries axis z.
struct ChainParams {
  ChunkedView<const Half> q, k, v;
  ChunkedView<Half> o;
  float* lse;
  Half* values;  // S, then P
  const RowBlock* blocks;
  const AffineRow* rows;
  int blocks_of_head, heads, seqlen_q, seqlen_k;
  int head_chunks;  // of a tensor's row
  HeadGroups groups, unions;
  std::int64_t chunks_of_turn, chunks_of_batch;  // of values
  float scale;
};

/// `memory` has MaskRows::all_bytes(). Throws std::invalid_argument as chunked_view() does.
inline ChainParams chain_params(const Problem& problem, const ForwardTensors& tensors,
                                const MaskRows& rows, Half* values, const void* memory) {
  const auto queries = [&](const char* name, const auto& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_q, problem.heads,
                        problem.head_dim);
  };
  const auto keys = [&](const char* name, const auto& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_k, problem.key_heads(),
                        problem.head_dim);
  };
  const auto* const bytes = static_cast<const std::byte*>(memory);
  return {queries("q", tensors.q),
          keys("k", tensors.k),
          keys("v", tensors.v),
          queries("o", tensors.o),
          tensors.lse,
          values,
          reinterpret_cast<const RowBlock*>(bytes),
          reinterpret_cast<const AffineRow*>(bytes + rows.rows_at()),
          rows.blocks_of_head(),
          problem.heads,
          problem.seqlen_q,
          problem.seqlen_k,
          problem.head_dim / kChunkHalves,
          make_head_groups(problem.heads, problem.key_heads()),
          make_head_groups(rows.unions(), 1),
          static_cast<std::int64_t>(rows.chunks_of_turn()),
          static_cast<std::int64_t>(rows.chunks_of_heads(problem.heads)),
          problem.scale()};
}

}  // namespace sparkbench::acsr
