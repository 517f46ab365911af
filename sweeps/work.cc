#include "sweeps/work.h"

#include <algorithm>

#include "sweeps/memory.h"
#include "sweeps/saturating.h"

namespace sparkbench {
namespace {

std::uint64_t unsigned_extent(int extent) { return static_cast<std::uint64_t>(extent); }

}  // namespace

std::uint64_t visible_pairs(int seqlen_q, int seqlen_k, bool causal) {
  const std::uint64_t rows = unsigned_extent(seqlen_q);
  const std::uint64_t keys = unsigned_extent(seqlen_k);
  if (!causal) return rows * keys;
  // The last `triangle` rows see keys - triangle + 1, ..., keys keys; the rows above see none.
  const std::uint64_t triangle = std::min(rows, keys);
  return triangle * (2 * keys - triangle + 1) / 2;
}

std::uint64_t useful_flops(Pass pass, const Problem& problem) {
  const bool halves = problem.causal && problem.seqlen_q == problem.seqlen_k;
  const std::uint64_t pairs =
      visible_pairs(problem.seqlen_q, problem.seqlen_k, problem.causal && !halves);
  // Matrix products of 2*D a pair: two forward; backward five, S recomputed among them.
  const unsigned products = pass == Pass::kForward ? 2 : pass == Pass::kBackward ? 5 : 7;
  return saturating_product({halves ? 1u : 2u, products, unsigned_extent(problem.batch),
                             unsigned_extent(problem.heads), pairs,
                             unsigned_extent(problem.head_dim)});
}

std::uint64_t compulsory_bytes(Pass pass, const Problem& problem) {
  if (pass == Pass::kForwardBackward) {
    return saturating_sum(
        {compulsory_bytes(Pass::kForward, problem), compulsory_bytes(Pass::kBackward, problem)});
  }
  return predict_fused_memory(pass, problem, true).io_bytes;
}

}  // namespace sparkbench
