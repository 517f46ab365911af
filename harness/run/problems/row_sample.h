// A stratified sample of the rows of a tensor: some rows of each kind (row_kinds.h), each with a
// weight, so that weighted sums over the sample estimate the sums over all rows. The check plans of
// a forward and of a backward pass (check_plan.h) draw their rows by it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <type_traits>
#include <vector>

#include "harness/run/problems/check_plan.h"
#include "harness/run/problems/row_kinds.h"
#include "kernels/base/sample.h"

namespace sparkbench {

/// The limit on a sample's cost, and its unit.
struct SampleCost {
  double budget_flops;
  double row_flops;  // of the row with the most terms; others in proportion
  bool is_of_tiles;  // whole tiles of kSampleRows, else single rows
};

/// How many of `available` units each kind gets: the same share of each, as large as `budget`
/// allows; and at least `least` (or all), whatever that costs.
struct UnitKind {
  std::int64_t available;
  std::int64_t least;
  double cost;  // per unit
};
std::vector<std::int64_t> share_budget(std::span<const UnitKind> kinds, double budget);

/// Adds the rows of a tile of its sequence.
template <class Row>
void append_rows(int seqlen, const SampleTile& tile, std::vector<Row>& rows) {
  const int first = tile[0] * kSampleRows, last = std::min(first + kSampleRows, seqlen);
  for (int row = first; row < last; ++row) rows.push_back({tile[2], tile[1], row});
}

template <class Row>
struct WeightedRows {
  std::vector<SampleTile> tiles;  // that contain the rows; empty if single rows were drawn
  std::vector<Row> rows;          // ascending
  std::vector<double> weights;    // how many rows each represents
};

class RowStrata {
 public:
  /// A stratum combines heads of all sequences or, with `of_each_head`, is one head's.
  RowStrata(bool is_of_keys, bool of_each_head)
      : is_of_keys_(is_of_keys), of_each_head_(of_each_head) {}

  /// The rows of a head whose tiles have these kinds. Rows are drawn only from candidates.
  void add_head(int batch, int head, int seqlen, const std::vector<TileKind>& kinds,
                bool is_candidate);

  /// FLOPs of the smallest sample: one tile (256 rows) per stratum, two (512) for a stratum with an
  /// eighth of all rows.
  double least_flops(const SampleCost& cost) const;

  /// Spreads the sample over the heads of each stratum, and over the rows of each head. The most
  /// similar stratum represents a stratum without candidates.
  template <class Row>
  WeightedRows<Row> draw(const SampleCost& cost) const;

 private:
  struct HeadTiles {
    int batch, head, seqlen;
    std::vector<int> tiles;  // ascending
    std::int64_t rows = 0;
  };
  struct Stratum {
    double rows = 0;   // of all heads
    double terms = 0;  // summed over these rows
    std::vector<HeadTiles> candidates;
  };
  using Key = std::array<int, 4>;  // batch and head, if each head is a stratum; TileKind::stratum()
  using Strata = std::map<Key, Stratum>;

  static std::int64_t units_of(const HeadTiles& of, bool are_tiles) {
    return are_tiles ? static_cast<std::int64_t>(of.tiles.size()) : of.rows;
  }
  template <class Row>
  static void append_units(const HeadTiles& of, const std::vector<std::int64_t>& units,
                           bool are_tiles, std::vector<SampleTile>& tiles, std::vector<Row>& rows);

  Strata with_candidates() const;
  std::vector<UnitKind> unit_kinds(const Strata& strata, const SampleCost& cost) const;

  bool is_of_keys_, of_each_head_;
  Strata strata_;
  double rows_ = 0, most_terms_ = 0;
};

// Tiles and rows at a pattern's borders, per head, that are checked with a weight of 0.
inline constexpr std::size_t kBorderTiles = 4;
inline constexpr std::size_t kBorderRows = 64;

/// The limits of a sample if a row costs `passes` times as much as in the forward pass.
SampleCost sample_cost(const Problem& problem, const CheckBudget& budget, double passes);

/// Draws from separate strata for each head if allowed and affordable, else from strata over all
/// heads. `add_heads(strata)` adds the heads.
template <class Row, class AddHeads>
WeightedRows<Row> draw_rows(const SampleCost& cost, bool may_be_of_each_head,
                            const AddHeads& add_heads) {
  constexpr bool kAreKeys = std::is_same_v<Row, KeyRow>;
  RowStrata strata(kAreKeys, may_be_of_each_head);
  add_heads(strata);
  if (may_be_of_each_head && strata.least_flops(cost) > cost.budget_flops) {
    strata = RowStrata(kAreKeys, false);
    add_heads(strata);
  }
  return strata.draw<Row>(cost);
}

/// Adds rows with a weight of 0; if tiles were drawn, with the rest of their tiles.
template <class Row>
void add_unweighted(const std::vector<Row>& more, bool are_tiles, const Problem& problem,
                    WeightedRows<Row>& drawn);

}  // namespace sparkbench
