// Launches what goes over the rows before and behind the passes of a pattern (tile/merge_passes.h),
// and behind parts of a block (tile/merge_parts.h), on the current GPU.
#pragma once

#include "kernels/tile/merge_parts.h"

struct CUstream_st;

namespace sparkbench {

/// Rows of each head of each batch entry.
struct RowsOfHeads {
  int seqlen, heads, batch;
};

void launch_merge_passes(const MergeParams& params, const RowsOfHeads& rows, CUstream_st* stream);
void launch_gather_lse(const GatherParams& params, const RowsOfHeads& rows, CUstream_st* stream);
void launch_sum_gradients(const SumParams& params, const RowsOfHeads& rows, CUstream_st* stream);

/// `rows` are those that parts share: of all splits.
void launch_merge_parts(const MergePartsParams& params, const RowsOfHeads& rows,
                        CUstream_st* stream);
void launch_sum_parts(const SumPartsParams& params, const RowsOfHeads& rows, CUstream_st* stream);

}  // namespace sparkbench
