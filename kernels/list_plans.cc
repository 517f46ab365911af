#include "kernels/list_plans.h"

#include <algorithm>
#include <numeric>

#include "kernels/sighted_plans.h"

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

std::vector<int> launch_order(const std::vector<int>& tiles, bool is_in_relay) {
  std::vector<int> order(tiles.size());
  std::iota(order.begin(), order.end(), 0);
  if (is_in_relay) return {order.rbegin(), order.rend()};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return tiles[static_cast<std::size_t>(a)] > tiles[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace sparkbench
