#include "harness/check_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sweeps/work.h"

namespace sparkbench {
namespace {

/// A tile of the last rows sees every key, so count all keys for any.
double flops_per_row(const Problem& problem) {
  return 4.0 * static_cast<double>(problem.seqlen_k) * problem.head_dim;
}

std::int64_t tiles_per_head(const Problem& problem, int rows_per_tile) {
  return (problem.seqlen_q + rows_per_tile - 1) / rows_per_tile;
}

/// Tile `index` of batch x heads x tiles, tiles fastest.
std::array<int, 3> tile_at(const Problem& problem, int rows_per_tile, std::int64_t index) {
  const std::int64_t tiles = tiles_per_head(problem, rows_per_tile);
  const std::int64_t head_index = index / tiles;
  return {static_cast<int>(index % tiles), static_cast<int>(head_index % problem.heads),
          static_cast<int>(head_index / problem.heads)};
}

void append_rows(const Problem& problem, int rows_per_tile, const std::array<int, 3>& tile,
                 std::vector<QueryRow>& rows) {
  const int first = tile[0] * rows_per_tile;
  const int last = std::min(first + rows_per_tile, problem.seqlen_q);
  for (int row = first; row < last; ++row) rows.push_back({tile[2], tile[1], row});
}

CheckPlan sample_tiles(const Problem& problem, const CheckBudget& budget) {
  const std::int64_t total = tiles_per_head(problem, budget.rows_per_tile) * problem.heads *
                             static_cast<std::int64_t>(problem.batch);
  const double tile_flops = flops_per_row(problem) * budget.rows_per_tile;
  const double affordable =
      std::floor(std::min(budget.emulate_flops, budget.oracle_flops) / tile_flops);
  const std::int64_t count =
      std::min(total, std::max<std::int64_t>(2, static_cast<std::int64_t>(affordable)));
  CheckPlan plan;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = count == 1 ? 0 : i * (total - 1) / (count - 1);
    plan.tiles.push_back(tile_at(problem, budget.rows_per_tile, index));
    append_rows(problem, budget.rows_per_tile, plan.tiles.back(), plan.rows);
  }
  std::sort(plan.rows.begin(), plan.rows.end());
  return plan;
}

}  // namespace

CheckPlan make_check_plan(const Problem& problem, const CheckBudget& budget) {
  const double flops = static_cast<double>(useful_flops(Pass::kForward, problem));
  if (flops <= budget.emulate_flops && flops <= budget.oracle_flops) {
    return {{}, all_rows(problem)};
  }
  if (std::isfinite(budget.emulate_flops)) return sample_tiles(problem, budget);
  const auto rows = static_cast<std::size_t>(budget.oracle_flops / flops_per_row(problem));
  return {{}, sample_rows(problem, std::max<std::size_t>(rows, 16))};
}

}  // namespace sparkbench
