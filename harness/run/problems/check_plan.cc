#include "harness/run/problems/check_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/run/problems/pattern_sample.h"
#include "harness/run/problems/plan_sample.h"
#include "harness/run/problems/tile_kinds.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

// FLOPs for the user's own inputs: for the compared rows, and for what these need.
constexpr double kOwnRowFlops = 4.0 * (1 << 30);
constexpr double kOwnOracleFlops = 16.0 * (1 << 30);

/// In the last batch entry, for the last head of each per-head pattern: at most `most` rows where a
/// pattern changes.
std::vector<QueryRow> rows_at_borders(const Problem& problem, std::size_t most) {
  std::vector<QueryRow> rows;
  if (!problem.sparse) return rows;
  for (const int head : last_heads_of_unions(problem)) {
    for (const int row : border_rows(problem.sparse->pattern, head, most)) {
      rows.push_back({problem.batch - 1, head, row});
    }
  }
  return rows;
}

CheckPlan sample_forward(const Problem& problem, const CheckBudget& budget) {
  TileKinds kinds(problem);
  const SampleCost cost = sample_cost(problem, budget, 1);
  auto drawn = draw_rows<QueryRow>(cost, true, [&](RowStrata& strata) {
    for (int batch = 0; batch < problem.batch; ++batch) {
      for (int head = 0; head < problem.heads; ++head) {
        strata.add_head(batch, head, problem.seqlen_q_of(batch), kinds.of_queries(batch, head),
                        true);
      }
    }
  });
  if (drawn.rows.size() == problem.lse_elements()) return {{}, std::move(drawn.rows)};
  const std::size_t borders = cost.is_of_tiles ? kBorderTiles : kBorderRows;
  add_unweighted(rows_at_borders(problem, borders), cost.is_of_tiles, problem, drawn);
  std::set<std::array<int, 2>> key_heads;
  for (const SampleTile& tile : drawn.tiles) key_heads.insert({tile[2], problem.key_head(tile[1])});
  return {std::move(drawn.tiles), std::move(drawn.rows), std::move(drawn.weights),
          std::move(key_heads)};
}

}  // namespace

CheckBudget budget_for_own_inputs(const CheckBudget& budget) {
  return {std::isfinite(budget.emulate_flops) ? std::max(budget.emulate_flops, kOwnRowFlops)
                                              : budget.emulate_flops,
          std::max(budget.oracle_flops, kOwnOracleFlops)};
}

CheckPlan make_check_plan(const Problem& problem, const CheckBudget& budget) {
  const double flops = static_cast<double>(useful_flops(Pass::kForward, problem));
  if (flops <= budget.emulate_flops && flops <= budget.oracle_flops) {
    return {{}, all_rows(problem)};
  }
  return sample_forward(problem, budget);
}

}  // namespace sparkbench
