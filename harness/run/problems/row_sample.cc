#include "harness/run/problems/row_sample.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <type_traits>

#include "harness/run/problems/row_kinds.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {
namespace {

constexpr double kGolden = 0.6180339887498949;  // its multiples, modulo 1, spread evenly
constexpr int kLeastRows = 256;                 // per stratum, if single rows are drawn
constexpr double kLargeShare = 1.0 / 8;         // of all rows: such a stratum gets twice the least

double fraction_of(double value) { return value - std::floor(value); }

double cost_of(std::span<const UnitKind> kinds, std::span<const std::int64_t> counts) {
  double cost = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    cost += kinds[i].cost * static_cast<double>(counts[i]);
  }
  return cost;
}

/// A number coprime to `count`, near its golden section.
std::int64_t stride_of(std::int64_t count) {
  auto stride = std::max<std::int64_t>(1, std::llround(kGolden * static_cast<double>(count)));
  while (std::gcd(stride, count) != 1) ++stride;
  return stride;
}

/// The drawn units of a head.
struct HeadDraw {
  std::size_t head;
  std::vector<std::int64_t> units;
};

/// `count` units from heads with `sizes` units: in proportion to a head's size, evenly spread
/// within each head, and with another offset for each head. `turn` gives each stratum other
/// offsets.
std::vector<HeadDraw> spread_over_heads(std::span<const std::int64_t> sizes, std::int64_t count,
                                        std::size_t turn) {
  const auto total = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), 0LL));
  const double first = fraction_of(0.5 + kGolden * static_cast<double>(turn));
  std::vector<HeadDraw> drawn;
  double begin = 0;
  std::int64_t next = 0;
  for (std::size_t head = 0; head < sizes.size(); ++head) {
    const double end = begin + static_cast<double>(sizes[head]);
    std::int64_t of_head = 0;
    while (next < count &&
           (static_cast<double>(next) + first) * total / static_cast<double>(count) < end) {
      ++next;
      ++of_head;
    }
    if (of_head > 0) drawn.push_back({head, std::vector<std::int64_t>(of_head)});
    begin = end;
  }
  const auto heads = static_cast<std::int64_t>(drawn.size());
  const std::int64_t stride = stride_of(heads);
  for (std::int64_t i = 0; i < heads; ++i) {
    auto& [head, units] = drawn[static_cast<std::size_t>(i)];
    const double offset =
        (static_cast<double>(i * stride % heads) + 0.5) / static_cast<double>(heads);
    const double step = static_cast<double>(sizes[head]) / static_cast<double>(units.size());
    for (std::size_t u = 0; u < units.size(); ++u) {
      units[u] = std::min(sizes[head] - 1,
                          static_cast<std::int64_t>((static_cast<double>(u) + offset) * step));
    }
  }
  return drawn;
}

}  // namespace

std::vector<std::int64_t> share_budget(std::span<const UnitKind> kinds, double budget) {
  const auto counts_of = [&](double share) {
    std::vector<std::int64_t> counts;
    for (const UnitKind& kind : kinds) {
      const auto shared = static_cast<std::int64_t>(share * static_cast<double>(kind.available));
      counts.push_back(std::min(kind.available, std::max(kind.least, shared)));
    }
    return counts;
  };
  double affordable = 0, beyond = 1;
  if (cost_of(kinds, counts_of(beyond)) <= budget) return counts_of(beyond);
  for (int i = 0; i < 40; ++i) {
    const double share = (affordable + beyond) / 2;
    (cost_of(kinds, counts_of(share)) <= budget ? affordable : beyond) = share;
  }
  return counts_of(affordable);
}

void RowStrata::add_head(int batch, int head, int seqlen, const std::vector<TileKind>& kinds,
                         bool is_candidate) {
  std::map<Key, HeadTiles> tiles;
  for (std::size_t tile = 0; tile < kinds.size(); ++tile) {
    const auto [terms, size] = kinds[tile].stratum(is_of_keys_);
    const Key key = {of_each_head_ ? batch : 0, of_each_head_ ? head : 0, terms, size};
    const int first = static_cast<int>(tile) * kSampleRows;
    const int rows = std::min(kSampleRows, seqlen - first);
    Stratum& stratum = strata_[key];
    stratum.rows += rows;
    stratum.terms += kinds[tile].terms * rows;
    rows_ += rows;
    most_terms_ = std::max(most_terms_, kinds[tile].terms);
    if (!is_candidate) continue;
    HeadTiles& of_head = tiles.try_emplace(key, HeadTiles{batch, head, seqlen, {}}).first->second;
    of_head.tiles.push_back(static_cast<int>(tile));
    of_head.rows += rows;
  }
  for (auto& [key, of_head] : tiles) strata_[key].candidates.push_back(std::move(of_head));
}

RowStrata::Strata RowStrata::with_candidates() const {
  Strata strata;
  for (const auto& [key, stratum] : strata_) {
    if (!stratum.candidates.empty()) strata.emplace(key, stratum);
  }
  const auto distance = [](const Key& a, const Key& b) {
    return std::abs(a[2] - b[2]) + std::abs(a[3] - b[3]);
  };
  for (const auto& [key, stratum] : strata_) {
    if (!stratum.candidates.empty() || strata.empty()) continue;
    const auto alike = std::min_element(strata.begin(), strata.end(),
                                        [&, &key = key](const auto& a, const auto& b) {
                                          return distance(a.first, key) < distance(b.first, key);
                                        });
    alike->second.rows += stratum.rows;
    alike->second.terms += stratum.terms;
  }
  return strata;
}

std::vector<UnitKind> RowStrata::unit_kinds(const Strata& strata, const SampleCost& cost) const {
  const double flops_per_term = cost.row_flops / std::max(1.0, most_terms_);
  std::vector<UnitKind> kinds;
  for (const auto& [_, stratum] : strata) {
    std::int64_t available = 0;
    for (const HeadTiles& of : stratum.candidates) {
      available += units_of(of, cost.is_of_tiles);
    }
    const std::int64_t least = cost.is_of_tiles ? 1 : kLeastRows;
    const bool is_large = !of_each_head_ && stratum.rows >= kLargeShare * rows_;
    const double of_row = flops_per_term * std::max(1.0, stratum.terms / stratum.rows);
    kinds.push_back({available, is_large ? 2 * least : least,
                     cost.is_of_tiles ? of_row * kSampleRows : of_row});
  }
  return kinds;
}

double RowStrata::least_flops(const SampleCost& cost) const {
  const std::vector<UnitKind> kinds = unit_kinds(with_candidates(), cost);
  return cost_of(kinds, share_budget(kinds, 0));
}

template <class Row>
void RowStrata::append_units(const HeadTiles& of, const std::vector<std::int64_t>& units,
                             bool are_tiles, std::vector<SampleTile>& tiles,
                             std::vector<Row>& rows) {
  for (const std::int64_t unit : units) {
    if (!are_tiles) {
      const int tile = of.tiles[static_cast<std::size_t>(unit / kSampleRows)];
      const int row = tile * kSampleRows + static_cast<int>(unit % kSampleRows);
      rows.push_back({of.batch, of.head, row});
      continue;
    }
    const SampleTile tile = {of.tiles[static_cast<std::size_t>(unit)], of.head, of.batch};
    tiles.push_back(tile);
    append_rows(of.seqlen, tile, rows);
  }
}

template <class Row>
WeightedRows<Row> RowStrata::draw(const SampleCost& cost) const {
  const Strata strata = with_candidates();
  const std::vector<std::int64_t> counts =
      share_budget(unit_kinds(strata, cost), cost.budget_flops);
  WeightedRows<Row> drawn;
  std::map<Row, double> weights;
  std::size_t turn = 0;
  for (const auto& [_, stratum] : strata) {
    std::vector<std::int64_t> sizes;
    for (const HeadTiles& of : stratum.candidates) {
      sizes.push_back(units_of(of, cost.is_of_tiles));
    }
    std::vector<Row> rows;
    for (const auto& [index, units] : spread_over_heads(sizes, counts[turn], turn)) {
      append_units(stratum.candidates[index], units, cost.is_of_tiles, drawn.tiles, rows);
    }
    for (const Row& row : rows) weights[row] = stratum.rows / static_cast<double>(rows.size());
    ++turn;
  }
  std::sort(drawn.tiles.begin(), drawn.tiles.end(), [](const SampleTile& a, const SampleTile& b) {
    return std::tie(a[2], a[1], a[0]) < std::tie(b[2], b[1], b[0]);
  });
  for (const auto& [row, weight] : weights) {
    drawn.rows.push_back(row);
    drawn.weights.push_back(weight);
  }
  return drawn;
}

template WeightedRows<QueryRow> RowStrata::draw(const SampleCost&) const;
template WeightedRows<KeyRow> RowStrata::draw(const SampleCost&) const;

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
