#include "harness/problems/check_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
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

TEST(CheckPlan, SamplesWholeTilesFromFirstToLast) {
  const Problem problem = long_problem();
  const double tile_flops = 4.0 * 128 * 1000 * 64;
  const CheckPlan plan = make_check_plan(problem, {5.5 * tile_flops, kUnlimited});
  ASSERT_EQ(plan.tiles.size(), 5u);
  EXPECT_EQ(plan.tiles.front(), (std::array<int, 3>{0, 0, 0}));
  EXPECT_EQ(plan.tiles.back(), (std::array<int, 3>{7, 3, 1}));
  EXPECT_EQ(std::set(plan.tiles.begin(), plan.tiles.end()).size(), 5u);
  EXPECT_TRUE(plan.is_sampled(problem));
}

TEST(CheckPlan, AffordsMoreTilesWhereRowsSeeFewerKeys) {
  Problem problem = long_problem();
  const double tile_flops = 4.0 * 128 * 1000 * 64;
  const auto tiles = [&](const MaskSpec& mask) {
    problem.mask = mask;
    return make_check_plan(problem, {5.5 * tile_flops, kUnlimited}).tiles.size();
  };
  EXPECT_EQ(tiles(MaskSpec::causal()), 5u);      // the last tile sees every key
  EXPECT_EQ(tiles(MaskSpec::window(123)), 22u);  // a tile sees 127 keys more than its last row
}

TEST(CheckPlan, ChecksExactlyItsTilesRowsInOrder) {
  const Problem problem = long_problem();
  const CheckPlan plan = make_check_plan(problem, {1.0, kUnlimited});
  ASSERT_EQ(plan.tiles.size(), 2u);  // never fewer: two cores work on two blocks
  EXPECT_EQ(plan.rows.size(), 128u + (1000 - 7 * 128));
  EXPECT_TRUE(std::is_sorted(plan.rows.begin(), plan.rows.end()));
  EXPECT_EQ(plan.rows.back().row, 999);
}

TEST(CheckPlan, TakesTheOnlyTileThereIs) {
  const Problem problem{.seqlen_q = 10, .seqlen_k = 100000, .head_dim = 64};
  const CheckPlan plan = make_check_plan(problem, {1.0, kUnlimited});
  EXPECT_EQ(plan.tiles.size(), 1u);
  EXPECT_EQ(plan.rows.size(), 10u);
}

TEST(CheckPlan, AffordsMoreRowsWhereTheySeeFewerKeys) {
  Problem problem = long_problem();
  problem.mask = MaskSpec::window(10);
  const CheckPlan plan = make_check_plan(problem, {kUnlimited, 100.0 * 4 * 10 * 64});
  EXPECT_EQ(plan.rows.size(), 100u);
}

/// dK and dV are sums over the heads of a group, so the forward pass of each of them is needed.
TEST(GradientPlan, TakesTheLastKeyHeadAndItsReaders) {
  Problem problem = long_problem();
  problem.heads_k = 2;
  for (const double emulate_flops : {1.0, kUnlimited}) {
    const GradientPlan plan = make_gradient_plan(problem, {emulate_flops, 1.0});
    EXPECT_EQ(plan.rows.dq.front().head, 3);
    EXPECT_EQ(plan.rows.dkv.front().head, 1);
    ASSERT_EQ(plan.forward_rows.size(), 2000u);
    EXPECT_EQ(plan.forward_rows.front(), (QueryRow{1, 2, 0}));
    EXPECT_EQ(plan.forward_rows.back(), (QueryRow{1, 3, 999}));
  }
}

TEST(CheckPlan, SamplesRowsWhereTheDeviceComputesEverything) {
  const Problem problem = long_problem();
  const double row_flops = 4.0 * 1000 * 64;
  const CheckPlan plan = make_check_plan(problem, {kUnlimited, 100 * row_flops});
  EXPECT_TRUE(plan.tiles.empty());
  EXPECT_EQ(plan.rows.size(), 100u);
}

Problem ragged_problem() {
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{300, 300}, {0, 9}, {9, 0}, {77, 77}, {1000, 1000}, {0, 0}});
  return with_lengths({.heads = 4, .head_dim = 64, .heads_k = 2}, lengths);
}

TEST(CheckPlan, SamplesTilesOfPackedSequences) {
  const Problem problem = ragged_problem();
  EXPECT_EQ(make_check_plan(problem, {1e12, 1e12}).rows.size(), problem.lse_elements());
  const double tile_flops = 4.0 * 128 * 1000 * 64;
  const CheckPlan plan = make_check_plan(problem, {5.5 * tile_flops, kUnlimited});
  ASSERT_EQ(plan.tiles.size(), 5u);
  EXPECT_EQ(plan.tiles.front(), (std::array<int, 3>{0, 0, 0}));
  EXPECT_EQ(plan.tiles.back(), (std::array<int, 3>{7, 3, 4}));
  for (const auto& [tile, head, sequence] : plan.tiles) {
    EXPECT_LT(tile * kSampleRows, problem.seqlen_q_of(sequence));
  }
  EXPECT_TRUE(plan.is_sampled(problem));
}

TEST(GradientPlan, SamplesWholePackedSequences) {
  const Problem problem = ragged_problem();
  const auto flops_of = [](double seqlen) {
    return 2.0 * 10 * seqlen * seqlen * 64;
  };  // of a group
  const GradientPlan plan = make_gradient_plan(problem, {flops_of(400), 1e12});
  std::set<int> sequences;
  for (const KeyRow& row : plan.rows.dkv) {
    EXPECT_EQ(row.head, 1);
    sequences.insert(row.batch);
  }
  EXPECT_EQ(sequences, (std::set<int>{0, 3}));
  EXPECT_EQ(plan.rows.dkv.size(), 377u);
  EXPECT_EQ(plan.rows.dq.size(), 377u);
  EXPECT_EQ(plan.forward_rows.size(), 2u * 377);
  EXPECT_EQ(plan.sample.query_tiles.size(), 2u * (3 + 1));
  EXPECT_EQ(plan.sample.key_tiles.size(), 3u + 1);
  EXPECT_TRUE(std::is_sorted(plan.forward_rows.begin(), plan.forward_rows.end()));
  EXPECT_TRUE(std::is_sorted(plan.rows.dkv.begin(), plan.rows.dkv.end()));
  // The cheapest, where none is affordable.
  EXPECT_EQ(make_gradient_plan(problem, {1, 1}).rows.dkv.size(), 77u);
}

}  // namespace
}  // namespace sparkbench
