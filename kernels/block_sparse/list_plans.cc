#include "kernels/block_sparse/list_plans.h"

#include "kernels/block_sparse/sighted_plans.h"

namespace sparkbench {

Pattern walked_by(const SparseMask& mask, const SparseListKind& kind) {
  return kind.is_of_keys ? transposed(mask.pattern) : mask.pattern;
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

}  // namespace sparkbench
