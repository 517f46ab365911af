// Launches that combine partial results row by row: of the parts of a pattern's blocks
// (tile/merge_parts.h), and of its strided views (tile/merge_passes.h).
#pragma once

#include "kernels/base/element_type.h"
#include "kernels/launch/plan.h"
#include "kernels/tile/merge_parts.h"

namespace sparkbench {

/// Rows of each head of each batch entry, and the type of their tensors.
struct RowsOfHeads {
  int seqlen, heads, batch;
  ElementType element;
};
/// The rows of all tokens, for a pattern that runs as strided views.
inline RowsOfHeads rows_of_tokens(const Problem& problem, int heads) {
  return {problem.seqlen_q, heads, problem.batch, problem.element};
}

Step merge_passes_step(const MergeParams& params, const RowsOfHeads& rows);
Step gather_lse_step(const GatherParams& params, const RowsOfHeads& rows);
Step sum_gradients_step(const SumParams& params, const RowsOfHeads& rows);

/// `rows` are those that parts share: of all splits.
Step merge_parts_step(const MergePartsParams& params, const RowsOfHeads& rows);
Step sum_parts_step(const SumPartsParams& params, const RowsOfHeads& rows);

}  // namespace sparkbench
