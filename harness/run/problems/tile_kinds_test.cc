#include "harness/run/problems/tile_kinds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/sample.h"

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
}  // namespace sparkbench
