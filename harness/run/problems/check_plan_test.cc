#include "harness/run/problems/check_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace sparkbench {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

Problem long_problem() {
  return {.batch = 2, .heads = 4, .seqlen_q = 1000, .seqlen_k = 1000, .head_dim = 64};
}

TEST(CheckPlan, TakesEverythingWhenItIsAffordable) {
  const Problem problem = long_problem();
  const CheckPlan plan = make_check_plan(problem, {1e12, 1e12});
  EXPECT_TRUE(plan.tiles.empty());
  EXPECT_EQ(plan.rows.size(), problem.lse_elements());
  EXPECT_FALSE(plan.is_sampled(problem));
}

double sum_of(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

TEST(CheckPlan, SpreadsWholeTilesOverHeads) {
  const Problem problem = long_problem();
  const double tile_flops = 4.0 * 128 * 1000 * 64;
  const CheckPlan plan = make_check_plan(problem, {5.5 * tile_flops, kUnlimited});
  ASSERT_EQ(plan.tiles.size(), 5u);
  std::set<std::array<int, 2>> heads;
  for (const SampleTile& tile : plan.tiles) heads.insert({tile[2], tile[1]});
  EXPECT_EQ(heads.size(), 5u);
  EXPECT_EQ(plan.key_heads, heads);
  EXPECT_NEAR(sum_of(plan.weights), 8000, 1e-6);
  EXPECT_TRUE(plan.is_sampled(problem));
}

TEST(CheckPlan, AffordsMoreTilesWhereRowsSeeFewerKeys) {
  Problem problem = long_problem();
  const double tile_flops = 4.0 * 128 * 1000 * 64;
  const auto tiles = [&](const MaskSpec& mask) {
    problem.mask = mask;
    return make_check_plan(problem, {5.5 * tile_flops, kUnlimited}).tiles.size();
  };
  EXPECT_GE(tiles(MaskSpec::causal()), 8u);
  EXPECT_GE(tiles(MaskSpec::window(123)), 16u);
}

/// The first rows of a causal mask see few keys, and represent only themselves.
TEST(CheckPlan, WeighsRowsByHowManySeeAsManyKeys) {
  Problem problem = long_problem();
  problem.mask = MaskSpec::causal();
  problem.seqlen_q = problem.seqlen_k = 1 << 14;
  for (const double emulate_flops : {1.0, kUnlimited}) {
    const CheckPlan plan = make_check_plan(problem, {emulate_flops, 1.0});
    ASSERT_EQ(plan.weights.size(), plan.rows.size());
    EXPECT_NEAR(sum_of(plan.weights), 8 << 14, 1e-3);
    EXPECT_LT(plan.rows.size(), 4000u);
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      if (plan.rows[i].row < 128) {
        EXPECT_LE(plan.weights[i], 8 * 128 / 8);
      }
      if (plan.rows[i].row >= 1 << 13) {
        EXPECT_GE(plan.weights[i], 8 * (1 << 13) / 512);
      }
    }
  }
}

TEST(CheckPlan, HasStrataOfEachHeadThatItCanAfford) {
  Problem problem = long_problem();
  problem.mask = MaskSpec::causal();
  const double head_flops = 4.0 * 1000 * 500 * 64;
  const CheckPlan plan = make_check_plan(problem, {8 * head_flops - 1, kUnlimited});
  std::set<std::array<int, 2>> first_tiles;
  for (const SampleTile& tile : plan.tiles) {
    if (tile[0] == 0) first_tiles.insert({tile[2], tile[1]});
  }
  EXPECT_EQ(first_tiles.size(), 8u);
}

TEST(CheckPlan, ChecksExactlyItsTilesRowsInOrder) {
  const Problem problem = long_problem();
  const CheckPlan plan = make_check_plan(problem, {1.0, kUnlimited});
  ASSERT_EQ(plan.tiles.size(), 2u);  // never fewer: two cores work on two blocks
  std::set<std::array<int, 3>> tiles;
  for (const QueryRow& row : plan.rows) tiles.insert({row.row / 128, row.head, row.batch});
  EXPECT_EQ(tiles, std::set(plan.tiles.begin(), plan.tiles.end()));
  EXPECT_TRUE(std::is_sorted(plan.rows.begin(), plan.rows.end()));
}

TEST(CheckPlan, TakesTheOnlyTileThereIs) {
  const Problem problem{.seqlen_q = 10, .seqlen_k = 100000, .head_dim = 64};
  const CheckPlan plan = make_check_plan(problem, {1.0, kUnlimited});
  EXPECT_TRUE(plan.tiles.empty());  // so everything
  EXPECT_TRUE(plan.weights.empty());
  EXPECT_EQ(plan.rows.size(), 10u);
}

TEST(CheckPlan, AffordsMoreRowsWhereTheySeeFewerKeys) {
  Problem problem = long_problem();
  problem.mask = MaskSpec::window(10);
  const CheckPlan plan = make_check_plan(problem, {kUnlimited, 1000.0 * 4 * 10 * 64});
  EXPECT_NEAR(static_cast<double>(plan.rows.size()), 1000, 8);
}

/// dK and dV are sums over the heads of a group, so each head's forward pass is needed.
TEST(GradientPlan, TakesTheLastKeyHeadAndItsReaders) {
  Problem problem = long_problem();
  problem.heads_k = 2;
  for (const double emulate_flops : {1.0, kUnlimited}) {
    const GradientPlan plan = make_gradient_plan(problem, {emulate_flops, 1.0});
    EXPECT_GE(plan.rows.dq.front().head, 2);
    EXPECT_EQ(plan.rows.dkv.front().head, 1);
    EXPECT_EQ(plan.key_heads, (std::set<std::array<int, 2>>{{1, 1}}));
    EXPECT_NEAR(sum_of(plan.dq_weights), 8000, 1e-6);
    EXPECT_NEAR(sum_of(plan.dkv_weights), 4000, 1e-6);
    ASSERT_EQ(plan.forward_rows.size(), 2000u);
    EXPECT_EQ(plan.forward_rows.front(), (QueryRow{1, 2, 0}));
    EXPECT_EQ(plan.forward_rows.back(), (QueryRow{1, 3, 999}));
  }
}

TEST(CheckPlan, SamplesRowsWhereTheDeviceComputesEverything) {
  const Problem problem = long_problem();
  const double row_flops = 4.0 * 1000 * 64;
  const CheckPlan plan = make_check_plan(problem, {kUnlimited, 1000 * row_flops});
  EXPECT_TRUE(plan.tiles.empty());
  EXPECT_TRUE(plan.key_heads.empty());
  EXPECT_NEAR(static_cast<double>(plan.rows.size()), 1000, 8);
}

Problem ragged_problem() {
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{300, 300}, {0, 9}, {9, 0}, {77, 77}, {1000, 1000}, {0, 0}});
  return with_lengths({.heads = 4, .head_dim = 64, .heads_k = 2}, lengths);
}

TEST(CheckPlan, SamplesTilesOfPackedSequences) {
  const Problem problem = ragged_problem();
  EXPECT_EQ(make_check_plan(problem, {1e12, 1e12}).rows.size(), problem.lse_elements());
  const CheckPlan plan = make_check_plan(problem, {1, kUnlimited});
  std::set<int> sequences;
  for (const auto& [tile, head, sequence] : plan.tiles) {
    EXPECT_LT(tile * kSampleRows, problem.seqlen_q_of(sequence));
    sequences.insert(sequence);
  }
  EXPECT_EQ(sequences, (std::set<int>{0, 2, 3, 4}));  // with 9, 77, 300 and 1000 rows
  EXPECT_NEAR(sum_of(plan.weights), static_cast<double>(problem.lse_elements()), 1e-6);
  EXPECT_TRUE(plan.is_sampled(problem));
}

/// One of each length, to a factor of 2.
TEST(GradientPlan, SamplesWholePackedSequences) {
  const Problem problem = ragged_problem();
  const GradientPlan plan = make_gradient_plan(problem, {1, 1e12});
  EXPECT_EQ(plan.key_heads, (std::set<std::array<int, 2>>{{0, 1}, {3, 1}, {4, 1}}));
  EXPECT_EQ(plan.rows.dkv.size(), 1377u);
  EXPECT_EQ(plan.rows.dq.size(), 2u * 1377);
  EXPECT_EQ(plan.forward_rows, plan.rows.dq);
  EXPECT_EQ(plan.sample.query_tiles.size(), 2u * (3 + 1 + 8));
  EXPECT_EQ(plan.sample.key_tiles.size(), 3u + 1 + 8);
  for (const double weight : plan.dkv_weights) EXPECT_DOUBLE_EQ(weight, 2);
  EXPECT_TRUE(std::is_sorted(plan.rows.dq.begin(), plan.rows.dq.end()));
  EXPECT_TRUE(std::is_sorted(plan.rows.dkv.begin(), plan.rows.dkv.end()));
  EXPECT_FALSE(plan.leaves_out_longest);
}

TEST(GradientPlan, LeavesOutSequencesThatAreTooLong) {
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{300, 300}, {1 << 14, 1 << 14}});
  const Problem problem = with_lengths({.heads = 4, .head_dim = 64}, lengths);
  const GradientPlan plan = make_gradient_plan(problem, {1, 1});
  EXPECT_EQ(plan.key_heads, (std::set<std::array<int, 2>>{{0, 3}}));
  EXPECT_TRUE(plan.leaves_out_longest);
  EXPECT_NEAR(sum_of(plan.dq_weights), 4 * (300 + (1 << 14)), 1e-3);
  // On a GPU rows are drawn from any sequence.
  EXPECT_FALSE(make_gradient_plan(problem, {kUnlimited, 1}).leaves_out_longest);
}

}  // namespace
}  // namespace sparkbench
