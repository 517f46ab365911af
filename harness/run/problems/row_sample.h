// A stratified sample of a tensor's rows: some rows of each kind (tile_kinds.h), each with a
// weight, so that weighted sums over the sample estimate the sums over all rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "harness/run/problems/tile_kinds.h"
#include "kernels/sample.h"

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

}  // namespace sparkbench
