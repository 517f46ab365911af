#include "kernels/block_sparse/list_plans.h"

#include <algorithm>
#include <numeric>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/sighted_plans.h"

namespace sparkbench {

Pattern walked_by(const SparseMask& mask, const SparseListKind& kind) {
  return kind.is_of_keys ? transposed(mask.walked()) : mask.walked();
}

std::vector<TilePlan> plans_of(const Pattern& walked, const SparseListKind& kind) {
  std::vector<TilePlan> plans;
  for (std::size_t i = 0; i < walked.unions.size(); ++i) {
    plans.push_back(plan(walked, static_cast<int>(i), kind.block_rows, kind.step));
  }
  return plans;
}

std::vector<TilePlan> plans_of(const SparseMask& mask, const SparseListKind& kind) {
  return mask.sights != nullptr ? SightedPlans(mask, kind).plans()
                                : plans_of(walked_by(mask, kind), kind);
}

std::vector<int> blocks_in_relay(const Pattern& walked, int block_keys) {
  const auto place_of = [&](int block) {
    const int first = block * block_keys;
    if (walked.row_order == walked.key_order) return first;
    return walked.key_order->position_of(walked.row_order->token_of(first));
  };
  std::vector<int> blocks(static_cast<std::size_t>(ceil_divide(walked.seqlen_q, block_keys)));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::stable_sort(blocks.begin(), blocks.end(),
                   [&](int a, int b) { return place_of(a) > place_of(b); });
  return blocks;
}

}  // namespace sparkbench
