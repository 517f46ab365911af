// The partial results that blocks of a pattern with split rows (tile/sparse_list.h) store in a
// pass's workspace, and the parameters of launches that store or combine them. C++17, for both
// machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/launch/plan.h"
#include "kernels/problem/attention.h"
#include "kernels/tile/forward_params.h"
#include "kernels/tile/merge_parts.h"

namespace sparkbench {

/// Bytes of a tensor of `rows` split rows for each of `heads` heads.
std::uint64_t part_tensor_bytes(const Problem& problem, int heads, int rows);

/// The partial results of a forward pass, `rows` rows of each head; null if no row is split.
struct ForwardParts {
  Bits16* o = nullptr;
  float* lse = nullptr;
};
std::uint64_t part_lse_bytes(const Problem& problem, int rows);
ForwardParts take_forward_parts(const Problem& problem, int rows, Workspace& workspace);

/// The lists that an instance takes for a pattern.
inline SparseListKind list_kind_of(const KernelInstance& instance) {
  return {instance.pass() == "bwd", instance.block_rows, instance.step_columns / instance.teams};
}

/// The problem without its pattern, whose full mask has the lengths.
inline Problem without_pattern(const Problem& problem) {
  Problem dense = problem;
  dense.sparse = nullptr;
  dense.mask = MaskSpec::full();
  return dense;
}

inline ChunkedView<Bits16> part_view(Bits16* data, const Problem& problem, int heads, int rows) {
  return chunked_view("of parts", contiguous_view(data, rows, heads, problem.head_dim),
                      problem.batch, rows, heads, problem.head_dim);
}

/// Where a launch stores parts; nothing is asked of memory where there are none.
inline void give_parts(ForwardParams& params, const Problem& problem, int rows, Bits16* o,
                       float* lse) {
  if (rows == 0) return;
  params.part_o = part_view(o, problem, problem.heads, rows);
  params.part_lse = lse;
  params.part_rows = rows;
}

/// The same backward.
template <class BackwardParams>
void give_key_parts(BackwardParams& params, const Problem& problem, int rows, Bits16* dk,
                    Bits16* dv) {
  if (rows == 0) return;
  params.part_dk = part_view(dk, problem, problem.key_heads(), rows);
  params.part_dv = part_view(dv, problem, problem.key_heads(), rows);
}
template <class BackwardParams>
void give_query_parts(BackwardParams& params, const Problem& problem, int rows, Bits16* dq) {
  if (rows == 0) return;
  params.part_dq = part_view(dq, problem, problem.heads, rows);
}

inline ChunkedView<const Bits16> read_only(const ChunkedView<Bits16>& view) {
  return {view.first, view.batch, view.row, view.head};
}

/// Behind a launch of `lists`, whose splits lie at `splits`.
inline MergePartsParams merge_parts_params(const ForwardParams& params, int seqlen,
                                           const SparseSplit* splits, int block_rows) {
  return {{splits, block_rows, seqlen, params.part_rows},
          params.heads,
          params.head_chunks,
          read_only(params.part_o),
          params.part_lse,
          params.o,
          params.lse};
}
inline SumPartsParams sum_parts_params(const SplitRows& rows, int head_chunks,
                                       const ChunkedView<Bits16>& part,
                                       const ChunkedView<Bits16>& x) {
  return {rows, head_chunks, read_only(part), x};
}

}  // namespace sparkbench
