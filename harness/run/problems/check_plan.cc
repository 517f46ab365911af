#include "harness/run/problems/check_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "harness/run/problems/row_kinds.h"
#include "harness/run/problems/row_sample.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

// FLOPs for the user's own inputs: for the compared rows, and for what these need.
constexpr double kOwnRowFlops = 4.0 * (1 << 30);
constexpr double kOwnOracleFlops = 16.0 * (1 << 30);

/// In the last batch entry, for the last head of each per-head pattern: at most `most` rows where a
/// pattern changes.
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

CheckPlan sample_forward(const Problem& problem, const CheckBudget& budget) {
  TileKinds kinds(problem);
  const SampleCost cost = sample_cost(problem, budget, 1);
  auto drawn = draw_rows<QueryRow>(cost, true, [&](RowStrata& strata) {
    for (int batch = 0; batch < problem.batch; ++batch) {
      for (int head = 0; head < problem.heads; ++head) {
        strata.add_head(batch, head, problem.seqlen_q_of(batch), kinds.of_queries(batch, head),
                        true);
      }
    }
  });
  if (drawn.rows.size() == problem.lse_elements()) return {{}, std::move(drawn.rows)};
  const std::size_t borders = cost.is_of_tiles ? kBorderTiles : kBorderRows;
  add_unweighted(rows_at_borders(problem, borders), cost.is_of_tiles, problem, drawn);
  std::set<std::array<int, 2>> key_heads;
  for (const SampleTile& tile : drawn.tiles) key_heads.insert({tile[2], problem.key_head(tile[1])});
  return {std::move(drawn.tiles), std::move(drawn.rows), std::move(drawn.weights),
          std::move(key_heads)};
}

}  // namespace

CheckBudget budget_for_own_inputs(const CheckBudget& budget) {
  return {std::isfinite(budget.emulate_flops) ? std::max(budget.emulate_flops, kOwnRowFlops)
                                              : budget.emulate_flops,
          std::max(budget.oracle_flops, kOwnOracleFlops)};
}

CheckPlan make_check_plan(const Problem& problem, const CheckBudget& budget) {
  const double flops = static_cast<double>(useful_flops(Pass::kForward, problem));
  if (flops <= budget.emulate_flops && flops <= budget.oracle_flops) {
    return {{}, all_rows(problem)};
  }
  return sample_forward(problem, budget);
}

namespace {

// The cost of a row of dQ, dK and dV relative to a row of O: five products over two.
constexpr double kBackwardPasses = 2.5;

// Upper bound on the cost of emulating a head of a whole varlen sequence.
constexpr double kMostWholeFlops = 8.0 * (1 << 30);

/// The forward pass of one key head of a sequence, with the heads that read it.
double forward_flops(const Problem& problem, int sequence) {
  const Problem alone = problem.alone(sequence);
  return static_cast<double>(useful_flops(Pass::kForward, alone)) / alone.key_heads();
}

/// Key heads of non-empty sequences with similar lengths and the same patterns.
using HeadKind = std::array<int, 3>;  // log2 of both lengths, and the first head's pattern
std::map<HeadKind, std::vector<KeyRow>> heads_by_kind(const Problem& problem) {
  const auto unions = problem.sparse ? static_cast<int>(problem.sparse->pattern.unions.size()) : 1;
  std::map<HeadKind, std::vector<KeyRow>> kinds;
  for (int batch = 0; batch < problem.batch; ++batch) {
    const int seqlen_q = problem.seqlen_q_of(batch), seqlen_k = problem.seqlen_k_of(batch);
    if (seqlen_q == 0 || seqlen_k == 0) continue;
    for (int head = 0; head < problem.key_heads(); ++head) {
      const HeadKind kind = {std::ilogb(seqlen_q), std::ilogb(seqlen_k),
                             head * problem.group_size() % unions};
      kinds[kind].push_back({batch, head, 0});
    }
  }
  return kinds;
}

/// The cost of a chosen key head, in forward passes, and the limits for all of them and for one.
/// One head of each kind is chosen despite the first limit, and one head despite both.
struct HeadBudget {
  double passes, all_flops, most_flops;
};

/// The key heads that rows are drawn from, and the last one of each kind.
struct ChosenHeads {
  std::set<std::array<int, 2>> all;  // {batch, key head}
  std::vector<KeyRow> last;
  bool leaves_out_kinds = false;  // because they cost too much
};

UnitKind unit_kind(const Problem& problem, const std::vector<KeyRow>& heads, double passes) {
  double flops = 0;  // of the most expensive
  for (const KeyRow& head : heads) {
    if (problem.lengths || flops == 0) flops = std::max(flops, forward_flops(problem, head.batch));
  }
  return {static_cast<std::int64_t>(heads.size()), 1, passes * flops};
}

ChosenHeads choose_heads(const Problem& problem, const HeadBudget& budget) {
  ChosenHeads chosen;
  std::vector<std::vector<KeyRow>> kinds;
  std::vector<UnitKind> units;
  double least_flops = std::numeric_limits<double>::infinity();
  auto all_kinds = heads_by_kind(problem);
  for (const auto& [_, heads] : all_kinds) {
    least_flops = std::min(least_flops, unit_kind(problem, heads, budget.passes).cost);
  }
  for (auto& [_, heads] : all_kinds) {
    const UnitKind unit = unit_kind(problem, heads, budget.passes);
    if (unit.cost > std::max(least_flops, budget.most_flops)) {
      chosen.leaves_out_kinds = true;
      continue;
    }
    units.push_back(unit);
    kinds.push_back(std::move(heads));
  }
  const std::vector<std::int64_t> counts = share_budget(units, budget.all_flops);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const std::vector<KeyRow>& heads = kinds[kind];
    const auto count = static_cast<std::size_t>(counts[kind]);
    for (std::size_t i = 0; i < count; ++i) {
      const KeyRow& head = heads[heads.size() - 1 - i * heads.size() / count];
      chosen.all.insert({head.batch, head.head});
    }
    chosen.last.push_back(heads.back());
  }
  return chosen;
}

/// Rows where a pattern changes, and keys where its transpose does, in the last head of each kind,
/// for each pattern that is read there.
struct GradientBorders {
  std::vector<QueryRow> queries;
  std::vector<KeyRow> keys;
};

GradientBorders gradient_borders(const Problem& problem, const ChosenHeads& chosen,
                                 std::size_t most) {
  GradientBorders borders;
  if (!problem.sparse) return borders;
  const Pattern by_key = transposed(problem.sparse->pattern);
  std::set<std::size_t> seen;  // patterns
  for (const KeyRow& key_head : chosen.last) {
    std::vector<int> readers = query_heads_of(problem, key_head);
    std::reverse(readers.begin(), readers.end());
    for (const int head : readers) {
      const auto unions = problem.sparse->pattern.unions.size();
      if (!seen.insert(static_cast<std::size_t>(head) % unions).second) continue;
      for (const int row : border_rows(problem.sparse->pattern, head, most)) {
        borders.queries.push_back({key_head.batch, head, row});
      }
      for (const int row : border_rows(by_key, head, most)) {
        borders.keys.push_back({key_head.batch, key_head.head, row});
      }
    }
  }
  return borders;
}

template <class Row>
WeightedRows<Row> draw_gradient_rows(const Problem& problem, const SampleCost& cost,
                                     const ChosenHeads& chosen, TileKinds& kinds) {
  constexpr bool kAreKeys = std::is_same_v<Row, KeyRow>;
  const auto all =
      static_cast<std::size_t>(problem.batch) * static_cast<std::size_t>(problem.key_heads());
  return draw_rows<Row>(cost, chosen.all.size() == all, [&](RowStrata& strata) {
    for (int batch = 0; batch < problem.batch; ++batch) {
      const int seqlen_q = problem.seqlen_q_of(batch), seqlen_k = problem.seqlen_k_of(batch);
      if (seqlen_q == 0 || seqlen_k == 0) continue;
      for (int head = 0; head < (kAreKeys ? problem.key_heads() : problem.heads); ++head) {
        const int key_head = kAreKeys ? head : problem.key_head(head);
        strata.add_head(batch, head, kAreKeys ? seqlen_k : seqlen_q,
                        kAreKeys ? kinds.of_keys(batch, head) : kinds.of_queries(batch, head),
                        chosen.all.count({batch, key_head}) > 0);
      }
    }
  });
}

/// All queries of some key heads.
std::vector<QueryRow> rows_that_read(const Problem& problem,
                                     const std::set<std::array<int, 2>>& key_heads) {
  std::vector<QueryRow> rows;
  for (const auto& [batch, key_head] : key_heads) {
    for (const int head : query_heads_of(problem, {batch, key_head, 0})) {
      for (int row = 0; row < problem.seqlen_q_of(batch); ++row) rows.push_back({batch, head, row});
    }
  }
  return rows;
}

GradientPlan sample_gradients(const Problem& problem, const CheckBudget& budget) {
  const CheckBudget half = {budget.emulate_flops / 2, budget.oracle_flops / 2};
  SampleCost cost = sample_cost(problem, half, kBackwardPasses);
  HeadBudget heads = {1, budget.oracle_flops, std::numeric_limits<double>::infinity()};
  if (problem.lengths && cost.is_of_tiles) {
    // Varlen kernels accumulate dQ over whole sequences, so these are emulated whole.
    heads = {kBackwardPasses, cost.budget_flops, kMostWholeFlops};
    cost.budget_flops = std::numeric_limits<double>::infinity();
  }
  ChosenHeads chosen = choose_heads(problem, heads);
  TileKinds kinds(problem);
  SampleCost key_cost = cost;  // a row of dK is a sum over the heads that read it
  key_cost.row_flops *= problem.group_size();
  auto queries = draw_gradient_rows<QueryRow>(problem, cost, chosen, kinds);
  auto keys = draw_gradient_rows<KeyRow>(problem, key_cost, chosen, kinds);
  const GradientBorders borders =
      gradient_borders(problem, chosen, cost.is_of_tiles ? 1 : kBorderRows);
  add_unweighted(borders.queries, cost.is_of_tiles, problem, queries);
  add_unweighted(borders.keys, cost.is_of_tiles, problem, keys);
  return {.sample = {std::move(queries.tiles), std::move(keys.tiles)},
          .rows = {std::move(queries.rows), std::move(keys.rows)},
          .forward_rows = rows_that_read(problem, chosen.all),
          .dq_weights = std::move(queries.weights),
          .dkv_weights = std::move(keys.weights),
          .key_heads = std::move(chosen.all),
          .leaves_out_longest = chosen.leaves_out_kinds};
}

}  // namespace

GradientPlan make_gradient_plan(const Problem& problem, const CheckBudget& budget) {
  const double flops = static_cast<double>(useful_flops(Pass::kBackward, problem));
  if (flops <= budget.emulate_flops && flops <= budget.oracle_flops) {
    return {.rows = all_gradient_rows(problem), .forward_rows = all_rows(problem)};
  }
  return sample_gradients(problem, budget);
}

}  // namespace sparkbench
