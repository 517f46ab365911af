// How a forward pass goes over the rows of a head.
//   blocks   each by itself, in whatever order
//   runs     one after the other, where rows see few keys: those that the next rows see, too, are
//            loaded once if they have room (row_runs.h). Blocks have more warpgroups, and tiles 64
//            keys, so that O has other bits
#pragma once

#include <cstdint>

#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/row_runs.h"

namespace sparkbench::hopper {

enum class RowForm { kBlocks, kRuns };

/// Up to so many keys per row, runs took less time on an H200.
constexpr int most_keys_of_runs(int columns) { return columns > 64 ? 384 : 257; }

/// The faster one, for a problem without a pattern: by time on an H200 (ladder.md). It depends only
/// on lengths, mask and columns, so that a batch entry has the bits that it has by itself.
inline RowForm row_form(const Problem& problem) {
  constexpr int kLeastRows = 4096;  // of fewer, larger blocks may leave SMs without work
  const KeyMask mask = problem.key_mask();
  if (mask.seqlen_q < kLeastRows || mask.prefix != 0 || !are_items_alike(mask)) {
    return RowForm::kBlocks;
  }
  const std::int64_t keys = std::int64_t{mask.end_offset} - mask.begin_offset;
  const KernelInstance* const runs = find_runs(problem);
  return runs != nullptr && keys <= most_keys_of_runs(runs->head_dim) ? RowForm::kRuns
                                                                      : RowForm::kBlocks;
}

}  // namespace sparkbench::hopper
