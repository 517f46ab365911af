#include "sweeps/work.h"

#include <algorithm>

#include "kernels/saturating.h"
#include "sweeps/memory.h"

namespace sparkbench {
namespace {

std::uint64_t unsigned_extent(int extent) { return static_cast<std::uint64_t>(extent); }

}  // namespace

std::uint64_t useful_flops(Pass pass, const Problem& problem) {
  if (problem.lengths) {
    std::uint64_t flops = 0;
    for (int i = 0; i < problem.batch; ++i) {
      flops = saturating_sum({flops, useful_flops(pass, problem.alone(i))});
    }
    return flops;
  }
  // Matrix products of 2*D a pair: two forward; backward five, S recomputed among them.
  const unsigned products = pass == Pass::kForward ? 2 : pass == Pass::kBackward ? 5 : 7;
  return saturating_product({products, unsigned_extent(problem.batch),
                             unsigned_extent(problem.heads),
                             twice_credited_pairs(problem.mask, problem.seqlen_q, problem.seqlen_k),
                             unsigned_extent(problem.head_dim)});
}

std::uint64_t compulsory_bytes(Pass pass, const Problem& problem) {
  if (pass == Pass::kForwardBackward) {
    return saturating_sum(
        {compulsory_bytes(Pass::kForward, problem), compulsory_bytes(Pass::kBackward, problem)});
  }
  return tensor_bytes(pass, problem);
}

}  // namespace sparkbench
