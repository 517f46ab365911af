#include "harness/problems/check_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "harness/problems/pattern_sample.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

// Of a pattern's borders, in a head, that are checked besides.
constexpr std::size_t kBorderTiles = 4;
constexpr std::size_t kBorderRows = 64;

/// The most keys that `block_rows` rows of a sequence share, of which one of them sees each.
int most_keys(const KeyMask& mask, int block_rows) {
  int keys = 0;
  for (int first = 0; first < mask.seqlen_q; first += block_rows) {
    const int end = std::min(first + block_rows, mask.seqlen_q);
    keys = std::max(keys, mask.keys_of_any({first, end}).size());
  }
  return keys;
}

/// FLOPs of a query row, taken as the most that any of `block_rows` rows together costs.
double flops_per_row(const Problem& problem, int block_rows) {
  if (problem.sparse) return 4.0 * keys_per_row(*problem.sparse, block_rows) * problem.head_dim;
  int keys = 0;
  if (problem.lengths) {
    for (int i = 0; i < problem.batch; ++i) {
      keys = std::max(keys, most_keys(problem.key_mask_of(i), block_rows));
    }
  } else {
    keys = most_keys(problem.key_mask(), block_rows);
  }
  return 4.0 * std::max(1, keys) * problem.head_dim;
}

/// The tiles of a problem in the order of batch x heads x tiles, tiles fastest.
class Tiles {
 public:
  explicit Tiles(const Problem& problem) : problem_(problem) {
    for (int i = 0; i < problem.batch; ++i) {
      const std::int64_t of_head = sample_tiles_of(problem.seqlen_q_of(i));
      end_of_.push_back(count() + of_head * problem.heads);
    }
  }
  std::int64_t count() const { return end_of_.empty() ? 0 : end_of_.back(); }
  SampleTile at(std::int64_t index) const {
    const auto sequence = std::upper_bound(end_of_.begin(), end_of_.end(), index) - end_of_.begin();
    const std::int64_t first = sequence == 0 ? 0 : end_of_[static_cast<std::size_t>(sequence) - 1];
    const int batch = static_cast<int>(sequence);
    const std::int64_t tiles = sample_tiles_of(problem_.seqlen_q_of(batch));
    return {static_cast<int>((index - first) % tiles), static_cast<int>((index - first) / tiles),
            batch};
  }

 private:
  const Problem& problem_;
  std::vector<std::int64_t> end_of_;  // each batch entry
};

template <class Row>
void append_rows(int seqlen, const SampleTile& tile, std::vector<Row>& rows) {
  const int first = tile[0] * kSampleRows;
  const int last = std::min(first + kSampleRows, seqlen);
  for (int row = first; row < last; ++row) rows.push_back({tile[2], tile[1], row});
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

template <class Row>
void sort_each_once(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
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

/// In the last batch entry, of the last head of each union: the rows where a pattern changes, as
/// many as `most` of each.
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

/// Tiles that have them are taken besides those that are spread.
void append_border_tiles(const Problem& problem, std::size_t most, std::vector<SampleTile>& tiles) {
  for (const QueryRow& r : rows_at_borders(problem, most)) {
    const SampleTile tile = {r.row / kSampleRows, r.head, r.batch};
    if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
  }
}

CheckPlan sample_tiles(const Problem& problem, const CheckBudget& budget) {
  const Tiles tiles(problem);
  const std::int64_t total = tiles.count();
  const double tile_flops = flops_per_row(problem, kSampleRows) * kSampleRows;
  const double affordable =
      std::floor(std::min(budget.emulate_flops, budget.oracle_flops) / tile_flops);
  const std::int64_t count =
      std::min(total, std::max<std::int64_t>(2, static_cast<std::int64_t>(affordable)));
  CheckPlan plan;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = count == 1 ? 0 : i * (total - 1) / (count - 1);
    plan.tiles.push_back(tiles.at(index));
  }
  append_border_tiles(problem, kBorderTiles, plan.tiles);
  for (const SampleTile& tile : plan.tiles) {
    append_rows(problem.seqlen_q_of(tile[2]), tile, plan.rows);
  }
  std::sort(plan.rows.begin(), plan.rows.end());
  return plan;
}

/// Beside rows that are spread, those at a pattern's borders.
std::vector<QueryRow> with_borders(const Problem& problem, std::vector<QueryRow> rows) {
  append(rows, rows_at_borders(problem, kBorderRows));
  sort_each_once(rows);
  return rows;
}

/// Sequences of which a backward pass over one key head is affordable: the last that has rows and
/// keys, and the next ones before it that fit. At least one, the cheapest, unless there is none.
std::vector<int> affordable_sequences(const Problem& problem, double budget_flops) {
  double left = budget_flops;
  std::vector<int> chosen;
  int cheapest = -1;
  double least_flops = 0;
  for (int i = problem.batch - 1; i >= 0; --i) {
    if (problem.seqlen_q_of(i) == 0 || problem.seqlen_k_of(i) == 0) continue;
    const Problem alone = problem.alone(i);
    const double flops = static_cast<double>(useful_flops(Pass::kBackward, alone)) / alone.heads *
                         alone.group_size();
    if (cheapest < 0 || flops < least_flops) {
      cheapest = i;
      least_flops = flops;
    }
    if (flops > left) continue;
    left -= flops;
    chosen.push_back(i);
  }
  if (chosen.empty() && cheapest >= 0) chosen = {cheapest};
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

/// Of packed sequences: some of them whole, of the last key head and the heads that read it.
GradientPlan sample_sequences(const Problem& problem, const CheckBudget& budget) {
  const int key_head = problem.key_heads() - 1;
  const bool is_emulated = std::isfinite(budget.emulate_flops);
  GradientPlan plan;
  for (const int i :
       affordable_sequences(problem, std::min(budget.emulate_flops, budget.oracle_flops))) {
    const int seqlen_q = problem.seqlen_q_of(i), seqlen_k = problem.seqlen_k_of(i);
    for (const int head : query_heads_of(problem, {i, key_head, 0})) {
      for (int row = 0; row < seqlen_q; ++row) plan.forward_rows.push_back({i, head, row});
      for (int t = 0; is_emulated && t < sample_tiles_of(seqlen_q); ++t) {
        plan.sample.query_tiles.push_back({t, head, i});
      }
    }
    for (int row = 0; row < seqlen_q; ++row) plan.rows.dq.push_back({i, problem.heads - 1, row});
    for (int row = 0; row < seqlen_k; ++row) plan.rows.dkv.push_back({i, key_head, row});
    for (int t = 0; is_emulated && t < sample_tiles_of(seqlen_k); ++t) {
      plan.sample.key_tiles.push_back({t, key_head, i});
    }
  }
  return plan;
}

/// Adds a row at a border, and its whole tile where kernels are emulated.
template <class Row>
void add_border(int seqlen, const Row& row, bool is_emulated, std::vector<SampleTile>& tiles,
                std::vector<Row>& rows) {
  if (!is_emulated) return rows.push_back(row);
  const SampleTile tile = {row.row / kSampleRows, row.head, row.batch};
  tiles.push_back(tile);
  append_rows(seqlen, tile, rows);
}

/// Of the last batch entry, a head and the key head that it reads.
GradientPlan sample_head(const Problem& problem, const CheckBudget& budget, int head) {
  const int key_head = problem.key_head(head), batch = problem.batch - 1;
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

/// Of a pattern, a head of each of its unions, and besides what is spread a tile, or rows, at its
/// borders: of dK and dV at those of its transpose.
GradientPlan sample_pattern(const Problem& problem, const CheckBudget& budget) {
  const bool is_emulated = std::isfinite(budget.emulate_flops);
  const std::vector<int> heads = last_heads_of_unions(problem);
  const CheckBudget share{budget.emulate_flops,
                          budget.oracle_flops / static_cast<double>(heads.size())};
  const Pattern by_key = transposed(problem.sparse->pattern);
  const std::size_t borders = is_emulated ? 1 : kBorderRows;
  const int batch = problem.batch - 1;
  GradientPlan plan;
  for (const int head : heads) {
    GradientPlan of_head = sample_head(problem, share, head);
    const int key_head = problem.key_head(head);
    for (const int row : border_rows(problem.sparse->pattern, head, borders)) {
      add_border(problem.seqlen_q, QueryRow{batch, head, row}, is_emulated,
                 of_head.sample.query_tiles, of_head.rows.dq);
    }
    for (const int row : border_rows(by_key, head, borders)) {
      add_border(problem.seqlen_k, KeyRow{batch, key_head, row}, is_emulated,
                 of_head.sample.key_tiles, of_head.rows.dkv);
    }
    append(plan.forward_rows, of_head.forward_rows);
    append(plan.sample.query_tiles, of_head.sample.query_tiles);
    append(plan.sample.key_tiles, of_head.sample.key_tiles);
    append(plan.rows.dq, of_head.rows.dq);
    append(plan.rows.dkv, of_head.rows.dkv);
  }
  sort_each_once(plan.forward_rows);
  sort_each_once(plan.sample.query_tiles);
  sort_each_once(plan.sample.key_tiles);
  sort_each_once(plan.rows.dq);
  sort_each_once(plan.rows.dkv);
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
  return {{}, with_borders(problem, sample_rows(problem, std::max<std::size_t>(rows, 16)))};
}

GradientPlan make_gradient_plan(const Problem& problem, const CheckBudget& budget) {
  const double flops = static_cast<double>(useful_flops(Pass::kBackward, problem));
  if (flops <= budget.emulate_flops && flops <= budget.oracle_flops) {
    return {{}, all_gradient_rows(problem), all_rows(problem)};
  }
  if (problem.lengths) return sample_sequences(problem, budget);
  if (problem.sparse) return sample_pattern(problem, budget);
  // The last head of the last batch entry: an offset that is wrong anywhere is wrong there.
  return sample_head(problem, budget, problem.heads - 1);
}

}  // namespace sparkbench
