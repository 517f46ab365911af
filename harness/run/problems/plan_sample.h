// Shared by the plans of forward and backward passes (check_plan.h): the cost of a row, and which
// rows are drawn.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "harness/run/problems/check_plan.h"
#include "harness/run/problems/row_sample.h"

namespace sparkbench {

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
