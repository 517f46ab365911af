#include "harness/run/problems/row_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "harness/run/problems/check_plan.h"
#include "kernels/base/sample.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

Problem problem_of(const MaskSpec& mask, int seqlen) {
  return {.heads = 4,
          .seqlen_q = seqlen,
          .seqlen_k = seqlen,
          .head_dim = 64,
          .mask = mask,
          .heads_k = 2};
}

TEST(TileKinds, OfFullRowsAreAlike) {
  const Problem problem = problem_of(MaskSpec::full(), 1000);
  TileKinds kinds(problem);
  ASSERT_EQ(kinds.of_queries(0, 3).size(), 8u);
  for (const TileKind& kind : kinds.of_queries(0, 3)) {
    EXPECT_NEAR(kind.terms, 1000, 1e-6);
    EXPECT_NEAR(kind.size, 1 / std::sqrt(1000.0), 1e-9);
  }
  for (const TileKind& kind : kinds.of_keys(0, 1)) {
    EXPECT_NEAR(kind.terms, 2 * 1000, 1e-6);  // two heads read them
    EXPECT_NEAR(kind.size, std::sqrt(2 * 1000 / 1e6), 1e-9);
  }
}

TEST(TileKinds, OfCausalRowsCountTheirKeys) {
  const Problem problem = problem_of(MaskSpec::causal(), 256);
  TileKinds kinds(problem);
  EXPECT_NEAR(kinds.of_queries(0, 0)[0].terms, 64.5, 1e-9);
  EXPECT_NEAR(kinds.of_queries(0, 0)[1].terms, 192.5, 1e-9);
  // The last key is seen by one query of each head, which sees 256 keys.
  EXPECT_NEAR(kinds.of_keys(0, 0)[1].terms, 2 * 64.5, 1e-9);
  EXPECT_GT(kinds.of_keys(0, 0)[0].size, 2 * kinds.of_keys(0, 0)[1].size);
}

/// Almost all queries see the first keys, and the next ones, but the first weigh more.
TEST(TileKinds, OfCausalKeysHaveStrataOfTheirSize) {
  const Problem problem = problem_of(MaskSpec::causal(), 1 << 14);
  TileKinds kinds(problem);
  const auto& keys = kinds.of_keys(0, 0);
  EXPECT_EQ(keys[0].stratum(true)[0], keys[20].stratum(true)[0]);
  EXPECT_NE(keys[0].stratum(true)[1], keys[20].stratum(true)[1]);
  std::set<std::array<int, 2>> strata;
  for (const TileKind& kind : kinds.of_queries(0, 0)) strata.insert(kind.stratum(false));
  EXPECT_GE(strata.size(), 8u);  // 2^6 keys, 2^7, ... 2^13
  EXPECT_LE(strata.size(), 10u);
}

TEST(TileKinds, OfAPatternFollowItsDocuments) {
  Problem problem = problem_of(MaskSpec::full(), 1024);
  problem.sparse = make_sparse_mask("documents:256:768/full", 1024, 1024);
  TileKinds kinds(problem);
  EXPECT_NEAR(kinds.of_queries(0, 0)[1].terms, 256, 1e-9);
  EXPECT_NEAR(kinds.of_queries(0, 2)[2].terms, 768, 1e-9);
  EXPECT_NEAR(kinds.of_queries(0, 1)[2].terms, 1024, 1e-9);
  EXPECT_NEAR(kinds.of_keys(0, 0)[1].terms, 256 + 1024, 1e-6);
}

TEST(TileKinds, OfPackedSequencesAreOfEachLength) {
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{300, 300}, {0, 9}, {9, 0}});
  const Problem problem = with_lengths({.heads = 4, .head_dim = 64, .heads_k = 2}, lengths);
  TileKinds kinds(problem);
  EXPECT_EQ(kinds.of_queries(0, 0).size(), 3u);
  EXPECT_TRUE(kinds.of_queries(1, 0).empty());
  EXPECT_EQ(kinds.of_keys(1, 0)[0].terms, 0);
  EXPECT_EQ(kinds.of_queries(2, 0)[0].size, 0);  // they see nothing
  EXPECT_NE(kinds.of_queries(2, 0)[0].stratum(false), kinds.of_queries(0, 0)[0].stratum(false));
}

}  // namespace

namespace {

constexpr double kNoLimitOfRows = 1e30;

Problem problem_of(const std::string& spec, int heads = 2) {
  Problem problem{.batch = 2, .heads = heads, .seqlen_q = 1024, .seqlen_k = 1024, .head_dim = 64};
  problem.sparse = make_sparse_mask(spec, 1024, 1024);
  return problem;
}

bool has(const std::vector<int>& rows, int row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

std::vector<int> borders_of(const std::string& spec, std::size_t most = 64) {
  return border_rows(make_sparse_mask(spec, 1024, 1024)->pattern, 0, most);
}

TEST(BorderRows, AreWhereAPatternChanges) {
  const std::vector<int> global = borders_of("longformer:100:70");
  for (const int row : {69, 70}) EXPECT_TRUE(has(global, row)) << row;
  const std::vector<int> documents = borders_of("documents:100:333:591");
  for (const int row : {99, 100, 432, 433}) EXPECT_TRUE(has(documents, row)) << row;
  const std::vector<int> sinks = borders_of("sink:4+window:200");
  for (const int row : {203, 204}) EXPECT_TRUE(has(sinks, row)) << row;
  EXPECT_TRUE(borders_of("window:5000+strided:1").empty());
}

TEST(BorderRows, AreAsManyAsAskedFor) {
  for (const std::size_t most : {1u, 2u, 7u}) {
    const std::vector<int> rows = borders_of("blocked:50", most);
    EXPECT_EQ(rows.size(), most);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  }
}

TEST(KeysPerRow, AreThoseOfTilesOrOfTasks) {
  const auto mask = make_sparse_mask("chunk:128", 1024, 1024);
  EXPECT_EQ(keys_per_row(*mask, 128), 128);
  EXPECT_EQ(keys_per_row(*mask, 1), 1024);  // 32 spread rows see all
  EXPECT_EQ(keys_per_row(*make_sparse_mask("chunk:16", 1024, 1024), 1), 32 * 16);
  EXPECT_EQ(keys_per_row(*make_sparse_mask("strided:64/chunk:64", 1024, 1024), 128), 1024);
}

TEST(CheckPlan, OfAPatternHasTheTilesOfItsBorders) {
  const Problem problem = problem_of("documents:500:524/full");
  const CheckPlan plan = make_check_plan(problem, {1.0, kNoLimitOfRows});
  const auto has_tile = [&](int tile, int head) {
    return std::find(plan.tiles.begin(), plan.tiles.end(), SampleTile{tile, head, 1}) !=
           plan.tiles.end();
  };
  EXPECT_TRUE(has_tile(3, 0));       // rows 499 and 500, a stratum of their own
  EXPECT_EQ(plan.tiles.size(), 6u);  // that, and some with 500, 524 and 1024 keys
  EXPECT_TRUE(std::is_sorted(plan.rows.begin(), plan.rows.end()));
  EXPECT_EQ(plan.rows.size(), 6u * 128);
}

TEST(CheckPlan, OfAPatternOnAGpuHasTheRowsOfItsBorders) {
  const CheckPlan plan =
      make_check_plan(problem_of("documents:500:524"), {kNoLimitOfRows * 1e300, 1e6});
  for (const int row : {499, 500}) {
    const auto at = std::lower_bound(plan.rows.begin(), plan.rows.end(), QueryRow{1, 1, row});
    ASSERT_NE(at, plan.rows.end());
    EXPECT_EQ(*at, (QueryRow{1, 1, row}));
    EXPECT_EQ(plan.weights[static_cast<std::size_t>(at - plan.rows.begin())], 0);
  }
  EXPECT_LT(plan.rows.size(), 1500u);
}

TEST(GradientPlan, OfAPatternHasAHeadOfEachUnion) {
  const Problem problem = problem_of("documents:500:524/full/chunk:100", 4);
  for (const double emulate_flops : {1.0, kNoLimitOfRows * 1e300}) {
    const GradientPlan plan = make_gradient_plan(problem, {emulate_flops, 1e6});
    std::vector<int> heads;
    for (const QueryRow& r : plan.rows.dq) {
      if (heads.empty() || heads.back() != r.head) heads.push_back(r.head);
    }
    EXPECT_EQ(heads, (std::vector<int>{1, 2, 3}));
    EXPECT_TRUE(std::is_sorted(plan.rows.dkv.begin(), plan.rows.dkv.end()));
    EXPECT_TRUE(std::is_sorted(plan.forward_rows.begin(), plan.forward_rows.end()));
    // Head 3 has the first pattern again, and head 2 the last.
    EXPECT_TRUE(std::binary_search(plan.rows.dq.begin(), plan.rows.dq.end(), QueryRow{1, 3, 500}));
    EXPECT_TRUE(std::binary_search(plan.rows.dkv.begin(), plan.rows.dkv.end(), KeyRow{1, 3, 500}));
  }
}

}  // namespace

}  // namespace sparkbench
