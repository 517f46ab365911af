#include "harness/problems/check_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sweeps/work.h"

namespace sparkbench {
namespace {

/// FLOPs of a query row, taken as the most that any of `block_rows` rows together costs: they share
/// the keys that one of them sees.
double flops_per_row(const Problem& problem, int block_rows) {
  const KeyMask mask = problem.key_mask();
  int keys = 0;
  for (int first = 0; first < problem.seqlen_q; first += block_rows) {
    const int end = std::min(first + block_rows, problem.seqlen_q);
    keys = std::max(keys, mask.keys_of_any({first, end}).size());
  }
  return 4.0 * std::max(1, keys) * problem.head_dim;
}

/// Tile `index` of batch x heads x tiles, tiles fastest.
SampleTile tile_at(const Problem& problem, std::int64_t index) {
  const std::int64_t tiles = sample_tiles_of(problem.seqlen_q);
  const std::int64_t head_index = index / tiles;
  return {static_cast<int>(index % tiles), static_cast<int>(head_index % problem.heads),
          static_cast<int>(head_index / problem.heads)};
}

template <class Row>
void append_rows(int seqlen, const SampleTile& tile, std::vector<Row>& rows) {
  const int first = tile[0] * kSampleRows;
  const int last = std::min(first + kSampleRows, seqlen);
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
  const std::int64_t total =
      static_cast<std::int64_t>(sample_tiles_of(problem.seqlen_q)) * problem.heads * problem.batch;
  const double tile_flops = flops_per_row(problem, kSampleRows) * kSampleRows;
  const double affordable =
      std::floor(std::min(budget.emulate_flops, budget.oracle_flops) / tile_flops);
  const std::int64_t count =
      std::min(total, std::max<std::int64_t>(2, static_cast<std::int64_t>(affordable)));
  CheckPlan plan;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = count == 1 ? 0 : i * (total - 1) / (count - 1);
    plan.tiles.push_back(tile_at(problem, index));
    append_rows(problem.seqlen_q, plan.tiles.back(), plan.rows);
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
  const auto rows = static_cast<std::size_t>(budget.oracle_flops / flops_per_row(problem, 1));
  return {{}, sample_rows(problem, std::max<std::size_t>(rows, 16))};
}

GradientPlan make_gradient_plan(const Problem& problem, const CheckBudget& budget) {
  const double flops = static_cast<double>(useful_flops(Pass::kBackward, problem));
  if (flops <= budget.emulate_flops && flops <= budget.oracle_flops) {
    return {{}, all_gradient_rows(problem), all_rows(problem)};
  }
  // The last head of the last batch entry: an offset that is wrong anywhere is wrong there.
  const int head = problem.heads - 1, key_head = problem.key_heads() - 1, batch = problem.batch - 1;
  GradientPlan plan;
  for (const int reader : query_heads_of(problem, {batch, key_head, 0})) {
    for (int row = 0; row < problem.seqlen_q; ++row) {
      plan.forward_rows.push_back({batch, reader, row});
    }
  }
  if (!std::isfinite(budget.emulate_flops)) {
    const double row_flops = 5.0 * flops_per_row(problem, 1);
    const auto count = static_cast<int>(std::max(16.0, budget.oracle_flops / row_flops));
    for (const int row : spread(problem.seqlen_q, count))
      plan.rows.dq.push_back({batch, head, row});
    // A row of dK is a sum over the heads that read it.
    for (const int row : spread(problem.seqlen_k, std::max(16, count / problem.group_size())))
      plan.rows.dkv.push_back({batch, key_head, row});
    return plan;
  }
  for (const int tile : spread(sample_tiles_of(problem.seqlen_q), 2)) {
    plan.sample.query_tiles.push_back({tile, head, batch});
    append_rows(problem.seqlen_q, plan.sample.query_tiles.back(), plan.rows.dq);
  }
  for (const int tile : spread(sample_tiles_of(problem.seqlen_k), 2)) {
    plan.sample.key_tiles.push_back({tile, key_head, batch});
    append_rows(problem.seqlen_k, plan.sample.key_tiles.back(), plan.rows.dkv);
  }
  return plan;
}

}  // namespace sparkbench
