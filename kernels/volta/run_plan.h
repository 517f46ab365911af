// Which backward passes have runs of blocks of keys (backward_runs.h), and how long these are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/ceil_divide.h"
#include "kernels/saturating.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/key_run.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench::volta {

/// Keys of a block of a run, queries of a step, and columns of tensors.
inline constexpr int kRunBlock = 64;
inline constexpr int kRunStep = 32;
inline constexpr int kLeastRunHeadDim = 40, kMostRunHeadDim = 64;

using PlannedRun = KeyRun<kRunBlock, kRunStep>;

/// What a V100 has at once: two on each of its SMs. Runs are as many, or a multiple, so that all
/// end together; elsewhere they end one after the other, and compute the same.
inline constexpr int kRunsAtOnce = 160;

/// By the cycle model nothing is gained where a run has fewer for each step that it does again.
inline constexpr int kBlocksOfStepAgain = 2;

// Of masks that have a short window (short_blocks.h):

/// Keys that a row sees, where no end of the sequence is near.
inline int window_of(const KeyMask& mask) { return mask.end_offset - mask.begin_offset; }

/// Queries that see a block's keys, there.
inline int queries_of_run_block(const KeyMask& mask) { return kRunBlock + window_of(mask) - 1; }

/// Steps of the run before that a run does again, of its own queries.
inline int steps_again(const KeyMask& mask) {
  int steps = 0;
  for (int rows = window_of(mask) - 1; rows > 0; rows -= kRunBlock) {
    steps += ceil_divide(rows, kRunStep);
  }
  return steps;
}

/// Runs of so many blocks of keys. A ring has room for the queries that see a block's keys, in
/// whole steps.
inline KeyRuns runs_of_blocks(const Problem& problem, int blocks) {
  int rows = kRunBlock;
  while (rows < queries_of_run_block(problem.key_mask()) + 2 * (kRunStep - 1)) rows *= 2;
  return {blocks * kRunBlock, ceil_divide(ceil_divide(problem.seqlen_k, kRunBlock), blocks),
          problem.key_heads(), rows - 1};
}

/// A run for each head, of any mask: a ring for all of its queries.
inline KeyRuns whole_runs(const Problem& problem) {
  int rows = kRunStep;
  while (rows < problem.seqlen_q) rows *= 2;
  return {ceil_divide(problem.seqlen_k, kRunBlock) * kRunBlock, 1, problem.key_heads(), rows - 1};
}

/// Of those that end first, the longest.
inline KeyRuns plan_runs(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  const int blocks = ceil_divide(problem.seqlen_k, kRunBlock);
  const int steps = ceil_divide(queries_of_run_block(mask), kRunStep);
  const std::int64_t heads = std::int64_t{problem.batch} * problem.key_heads();
  int best = blocks;
  std::int64_t least = 0;
  for (int of_head = 1; of_head <= blocks; ++of_head) {
    const int run = ceil_divide(blocks, of_head);
    const std::int64_t waves = (heads * ceil_divide(blocks, run) + kRunsAtOnce - 1) / kRunsAtOnce;
    const std::int64_t end = waves * (run * steps + (of_head > 1 ? steps_again(mask) : 0));
    if (of_head > 1 && end >= least) continue;
    best = run;
    least = end;
  }
  return runs_of_blocks(problem, best);
}

/// Whether a pass has runs, deterministic or not: in windows all of whose rows see a key, of as
/// many columns as "/runs" of instances.h serves, where that is faster. The sums of so long runs
/// take no more memory than those of all queries.
inline bool has_runs(const Problem& problem) {
  if (problem.lengths || problem.sparse || problem.head_dim < kLeastRunHeadDim ||
      problem.head_dim > kMostRunHeadDim) {
    return false;
  }
  const KeyMask mask = problem.key_mask();
  if (mask.seqlen_q == 0 || !has_short_window(kShortBackwardWindow, mask) ||
      mask.keys(0).is_empty() || mask.keys(mask.seqlen_q - 1).is_empty()) {
    return false;
  }
  const KeyRuns runs = plan_runs(problem);
  return runs.keys > runs.ring_mask &&
         kBlocksOfStepAgain * steps_again(mask) <= runs.keys / kRunBlock;
}

/// The rings of all runs.
inline std::size_t ring_bytes(const Problem& problem, const KeyRuns& runs) {
  return saturating_product(
      {static_cast<std::uint64_t>(problem.batch), static_cast<std::uint64_t>(problem.heads),
       static_cast<std::uint64_t>(runs.of_head), static_cast<std::uint64_t>(runs.ring_mask + 1),
       static_cast<std::uint64_t>(sum_columns(problem.head_dim / kChunkHalves)), sizeof(float)});
}

}  // namespace sparkbench::volta
