#include "sweeps/work.h"

#include <algorithm>

#include "kernels/base/saturating.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/problem/credited_pairs.h"
#include "sweeps/memory.h"

namespace sparkbench {
namespace {

std::uint64_t unsigned_extent(int extent) { return static_cast<std::uint64_t>(extent); }

/// Over all heads of a sequence.
std::uint64_t visible_pairs_of_heads(const Problem& problem) {
  if (!problem.sparse) {
    return saturating_product({unsigned_extent(problem.heads), visible_pairs(problem.key_mask())});
  }
  std::uint64_t pairs = 0;
  for (int head = 0; head < problem.heads; ++head) {
    pairs = saturating_sum({pairs, problem.sparse->pairs_of(head)});
  }
  return pairs;
}

}  // namespace

std::uint64_t useful_flops(Pass pass, const Problem& problem) {
  // Matrix products of 2*D per pair: two forward; five backward, including the recomputed S.
  const unsigned products = pass == Pass::kForward ? 2 : pass == Pass::kBackward ? 5 : 7;
  return saturating_product(
      {products, twice_credited_pairs_of_heads(problem), unsigned_extent(problem.head_dim)});
}

PairCounts pairs_of(const Problem& problem) {
  PairCounts counts;
  if (problem.lengths) {
    for (int i = 0; i < problem.batch; ++i) {
      const PairCounts alone = pairs_of(problem.alone(i));
      counts.visible = saturating_sum({counts.visible, alone.visible});
      counts.all = saturating_sum({counts.all, alone.all});
    }
    return counts;
  }
  if (problem.seqlen_q == 0 || problem.seqlen_k == 0) return counts;
  const std::uint64_t batch = unsigned_extent(problem.batch);
  return {
      saturating_product({batch, visible_pairs_of_heads(problem)}),
      saturating_product({batch, unsigned_extent(problem.heads), unsigned_extent(problem.seqlen_q),
                          unsigned_extent(problem.seqlen_k)})};
}

std::uint64_t compulsory_bytes(Pass pass, const Problem& problem) {
  if (pass == Pass::kForwardBackward) {
    return saturating_sum(
        {compulsory_bytes(Pass::kForward, problem), compulsory_bytes(Pass::kBackward, problem)});
  }
  return tensor_bytes(pass, problem);
}

}  // namespace sparkbench
