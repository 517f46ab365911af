// The pairs (row, key) that an attention is credited with, whatever computes them.
#pragma once

#include <cstdint>

#include "kernels/base/saturating.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

/// Twice the pairs of all heads and sequences: for a pattern the visible ones, for any other mask
/// twice_credited_pairs(). Saturates at 2^64 - 1.
inline std::uint64_t twice_credited_pairs_of_heads(const Problem& problem) {
  const auto heads = static_cast<std::uint64_t>(problem.heads);
  std::uint64_t pairs = 0;
  if (problem.lengths) {
    for (int i = 0; i < problem.batch; ++i) {
      const std::uint64_t of_head =
          twice_credited_pairs(problem.mask, problem.seqlen_q_of(i), problem.seqlen_k_of(i));
      pairs = saturating_sum({pairs, saturating_product({heads, of_head})});
    }
    return pairs;
  }
  if (problem.sparse) {
    for (int head = 0; head < problem.heads; ++head) {
      pairs = saturating_sum({pairs, saturating_product({2, problem.sparse->pairs_of(head)})});
    }
  } else {
    pairs = saturating_product(
        {heads, twice_credited_pairs(problem.mask, problem.seqlen_q, problem.seqlen_k)});
  }
  return saturating_product({static_cast<std::uint64_t>(problem.batch), pairs});
}

}  // namespace sparkbench
