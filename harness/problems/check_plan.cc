#include "harness/problems/check_plan.h"

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

template <class Row>
void append_rows(int seqlen, int rows_per_tile, const std::array<int, 3>& tile,
                 std::vector<Row>& rows) {
  const int first = tile[0] * rows_per_tile;
  const int last = std::min(first + rows_per_tile, seqlen);
  for (int row = first; row < last; ++row) rows.push_back({tile[2], tile[1], row});
}

/// At most `count` of the numbers 0..total-1, ascending, the first and the last among them.
std::vector<int> spread(int total, int count) {
  std::vector<int> numbers;
  count = std::min(total, count);
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(count == 1 ? 0 : static_cast<int>(i * (total - 1) / (count - 1)));
  }
  return numbers;
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
    append_rows(problem.seqlen_q, budget.rows_per_tile, plan.tiles.back(), plan.rows);
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

GradientPlan make_gradient_plan(const Problem& problem, const CheckBudget& budget) {
  const double flops = static_cast<double>(useful_flops(Pass::kBackward, problem));
  if (flops <= budget.emulate_flops && flops <= budget.oracle_flops) {
    return {{}, all_gradient_rows(problem), all_rows(problem)};
  }
  // The last head of the last batch entry: an offset that is wrong anywhere is wrong there.
  const int head = problem.heads - 1, batch = problem.batch - 1;
  GradientPlan plan;
  for (int row = 0; row < problem.seqlen_q; ++row) plan.forward_rows.push_back({batch, head, row});
  if (!std::isfinite(budget.emulate_flops)) {
    const double row_flops = 5.0 * flops_per_row(problem);
    const auto count = static_cast<int>(std::max(16.0, budget.oracle_flops / row_flops));
    for (const int row : spread(problem.seqlen_q, count))
      plan.rows.dq.push_back({batch, head, row});
    for (const int row : spread(problem.seqlen_k, count))
      plan.rows.dkv.push_back({batch, head, row});
    return plan;
  }
  constexpr int kRows = volta::kBackwardSampleRows;
  for (const int tile : spread((problem.seqlen_q + kRows - 1) / kRows, 2)) {
    plan.sample.query_tiles.push_back({tile, head, batch});
    append_rows(problem.seqlen_q, kRows, plan.sample.query_tiles.back(), plan.rows.dq);
  }
  for (const int tile : spread((problem.seqlen_k + kRows - 1) / kRows, 2)) {
    plan.sample.key_tiles.push_back({tile, head, batch});
    append_rows(problem.seqlen_k, kRows, plan.sample.key_tiles.back(), plan.rows.dkv);
  }
  return plan;
}

}  // namespace sparkbench
