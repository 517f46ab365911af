// What the plans of a forward and of a backward pass (check_plan.h) share: the price of a row, and
// which rows are drawn.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "harness/run/problems/check_plan.h"
#include "harness/run/problems/row_sample.h"

namespace sparkbench {

// Tiles and rows at a pattern's borders, in a head, that are checked with a weight of 0.
inline constexpr std::size_t kBorderTiles = 4;
inline constexpr std::size_t kBorderRows = 64;

/// What a sample may cost, if a row costs `passes` times what the forward pass computes of it.
SampleCost sample_cost(const Problem& problem, const CheckBudget& budget, double passes);

/// Draws from strata of each head if these may be and are affordable, else from strata of all
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

/// Adds rows with a weight of 0, with the rest of their tiles if tiles were drawn.
template <class Row>
void add_unweighted(const std::vector<Row>& more, bool are_tiles, const Problem& problem,
                    WeightedRows<Row>& drawn);

}  // namespace sparkbench
