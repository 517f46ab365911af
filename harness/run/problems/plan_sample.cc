#include "harness/run/problems/plan_sample.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

#include "harness/run/problems/pattern_sample.h"

namespace sparkbench {
namespace {

/// The most keys of `block_rows` rows of a sequence, counting keys that any of the rows sees.
int most_keys(const KeyMask& mask, int block_rows) {
  int keys = 0;
  for (int first = 0; first < mask.seqlen_q; first += block_rows) {
    const int end = std::min(first + block_rows, mask.seqlen_q);
    keys = std::max(keys, mask.keys_of_any({first, end}).size());
  }
  return keys;
}

/// FLOPs per query row: the most over blocks of `block_rows` rows.
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

}  // namespace

SampleCost sample_cost(const Problem& problem, const CheckBudget& budget, double passes) {
  const bool is_of_tiles = std::isfinite(budget.emulate_flops);
  return {std::min(budget.emulate_flops, budget.oracle_flops),
          passes * flops_per_row(problem, is_of_tiles ? kSampleRows : 1), is_of_tiles};
}

template <class Row>
void add_unweighted(const std::vector<Row>& more, bool are_tiles, const Problem& problem,
                    WeightedRows<Row>& drawn) {
  const int seqlen = std::is_same_v<Row, QueryRow> ? problem.seqlen_q : problem.seqlen_k;
  std::map<Row, double> weights;
  for (std::size_t i = 0; i < drawn.rows.size(); ++i) weights[drawn.rows[i]] = drawn.weights[i];
  for (const Row& row : more) {
    std::vector<Row> rows = {row};
    if (are_tiles) {
      const SampleTile tile = {row.row / kSampleRows, row.head, row.batch};
      if (std::find(drawn.tiles.begin(), drawn.tiles.end(), tile) != drawn.tiles.end()) continue;
      drawn.tiles.push_back(tile);
      rows.clear();
      append_rows(seqlen, tile, rows);
    }
    for (const Row& each : rows) weights.emplace(each, 0.0);
  }
  drawn.rows.clear();
  drawn.weights.clear();
  for (const auto& [row, weight] : weights) {
    drawn.rows.push_back(row);
    drawn.weights.push_back(weight);
  }
}

template void add_unweighted(const std::vector<QueryRow>&, bool, const Problem&,
                             WeightedRows<QueryRow>&);
template void add_unweighted(const std::vector<KeyRow>&, bool, const Problem&,
                             WeightedRows<KeyRow>&);

}  // namespace sparkbench
