// How a forward pass goes over the rows of a head.
//   blocks   each by itself, in whatever order
//   runs     one after the other, where rows see few keys: those that the next rows see, too, are
//            loaded once (row_runs.h). Blocks have more warpgroups, and tiles 64 keys, so that O
//            has other bits
#pragma once

#include <cstdint>

#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/row_runs.h"

namespace sparkbench::hopper {

enum class RowForm { kBlocks, kRuns };

/// How many items the block of a launch that has most of them does.
inline std::int64_t most_items(std::int64_t items) {
  return (items + kChosenForSms - 1) / kChosenForSms;
}
/// Rows of such a block, of so many heads' blocks of rows, and of their runs.
inline std::int64_t most_rows(int block_rows, int seqlen, int heads) {
  return block_rows * most_items(std::int64_t{ceil_divide(seqlen, block_rows)} * heads);
}
inline std::int64_t most_rows_of_runs(int block_rows, int seqlen, int heads) {
  const int blocks = ceil_divide(seqlen, block_rows),
            runs = runs_of_rows(blocks, heads, kChosenForSms);
  return block_rows * ceil_divide(blocks, runs) * most_items(std::int64_t{heads} * runs);
}

/// The faster one, of a problem without a pattern: by time on an H200 (ladder.md). A window of all
/// keys is none, so that it has the bits of a causal mask.
inline RowForm row_form(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  const std::int64_t keys = std::int64_t{mask.end_offset} - mask.begin_offset;
  if (mask.seqlen_q == 0 || mask.prefix != 0 || keys >= mask.seqlen_k) return RowForm::kBlocks;
  const int heads = problem.heads * problem.batch;
  RowForm form = RowForm::kBlocks;
  const auto choose = [&](auto row) {
    using Runs = decltype(row);
    using InBlocks = ForwardConfig<Runs::kHeadDim, Runs::kHasDropout, Runs::kLeastHeadDim>;
    constexpr int kMostKeys = Runs::kHeadDim > 64 ? 384 : 257;
    if (keys > kMostKeys) return;
    // The time of a row in runs, of one's in blocks.
    constexpr double kOfRow = Runs::kHeadDim > 96 ? 0.87 : Runs::kHeadDim > 64 ? 0.91 : 0.97;
    const auto in_runs = most_rows_of_runs(Runs::kBlockM, mask.seqlen_q, heads),
               in_blocks = most_rows(InBlocks::kBlockM, mask.seqlen_q, heads);
    if (kOfRow * static_cast<double>(in_runs) <= static_cast<double>(in_blocks)) {
      form = RowForm::kRuns;
    }
  };
#define SPARK_RUNS_ROW(symbol, id, ...) \
  if (serves<__VA_ARGS__>(problem)) choose(__VA_ARGS__{});
  SPARK_HOPPER_RUNS_FORWARD(SPARK_RUNS_ROW)
#undef SPARK_RUNS_ROW
  return form;
}

/// As visit_forward(), of the rows for a form.
template <class Visit>
void visit_forward(const Problem& problem, RowForm form, Visit&& visit) {
  if (form == RowForm::kRuns) return visit_forward<Blocks::kRuns>(problem, visit);
  visit_forward<Blocks::kDense>(problem, visit);
}

}  // namespace sparkbench::hopper
