#include "harness/model/predict/pass_launches.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

std::vector<PassLaunch> launches_of(const Problem& problem) {
  return launches_of_pass(*find_attention_kernel("acsr-unfused"), problem, Pass::kForward, false);
}

Problem problem_of(std::string_view spec, int seqlen, int head_dim = 64) {
  Problem problem{
      .batch = 2, .heads = 3, .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = head_dim};
  problem.sparse = make_sparse_mask(spec, seqlen, seqlen);
  return problem;
}

TEST(ChainLaunches, AreItsThreeKernels) {
  for (const int head_dim : {40, 64, 80, 128}) {
    const std::vector<PassLaunch> launches = launches_of(problem_of("window:100", 300, head_dim));
    ASSERT_EQ(launches.size(), 3u);
    const std::string columns = head_dim <= 64 ? "/d64" : "/d128";
    EXPECT_EQ(launches[0].instance->id, "acsr-unfused/sddmm" + columns);
    EXPECT_EQ(launches[1].instance->id, "acsr-unfused/softmax");
    EXPECT_EQ(launches[2].instance->id, "acsr-unfused/spmm" + columns);
  }
}

/// Three heads of blocks, twice.
TEST(ChainLaunches, HaveTheBlocksOfTheRows) {
  const BlockGrid full = launches_of(problem_of("full", 256))[0].grid;
  EXPECT_EQ(full.heads, 2u);
  EXPECT_EQ(full.of_head, std::vector<BlockWork>(6, {4, 0, 0}));
  // The longest first: rows 128 to 255 see keys 0 to 127 all, and two tiles cut.
  const BlockGrid causal = launches_of(problem_of("causal", 256))[2].grid;
  ASSERT_EQ(causal.of_head.size(), 6u);
  EXPECT_EQ(causal.of_head[0], (BlockWork{2, 2, 0}));
  EXPECT_EQ(causal.of_head[1], (BlockWork{0, 2, 0}));
  // Two classes of 128 rows, each dense.
  const BlockGrid strided = launches_of(problem_of("strided:2", 256))[0].grid;
  EXPECT_EQ(strided.of_head, std::vector<BlockWork>(6, {2, 0, 0}));
}

/// Values are written, read and written, and read.
TEST(ChainLaunches, MoveTheValuesFourTimes) {
  const std::vector<PassLaunch> launches = launches_of(problem_of("full", 256));
  const double values = 2.0 * 2 * 3 * 256 * 256, tensor = 2.0 * 2 * 3 * 256 * 64;
  EXPECT_EQ(launches[0].hbm_bytes, 2 * tensor + values);
  EXPECT_EQ(launches[0].l2_bytes, 3 * tensor + values);  // K for each of two blocks of a head
  EXPECT_EQ(launches[1].hbm_bytes, 2 * values + 4.0 * 2 * 3 * 256);
  EXPECT_EQ(launches[2].hbm_bytes, 2 * tensor + values);
}

/// Rows of more than 2048 values are read twice.
TEST(ChainLaunches, ReadLongRowsTwice) {
  Problem problem = problem_of("full", 4096);
  problem.batch = problem.heads = 1;
  EXPECT_EQ(launches_of(problem)[1].hbm_bytes, 3 * 2.0 * 4096 * 4096 + 4.0 * 4096);
}

TEST(ChainLaunches, OfABackwardPassBeginWithP) {
  Problem problem = problem_of("full", 256);
  problem.heads = 4;
  problem.heads_k = 2;
  const std::vector<PassLaunch> launches =
      launches_of_pass(*find_attention_kernel("acsr-unfused"), problem, Pass::kBackward, false);
  ASSERT_EQ(launches.size(), 5u);
  const double values = 2.0 * 2 * 4 * 256 * 256, queries = 2.0 * 2 * 4 * 256 * 64;
  EXPECT_EQ(launches[0].hbm_bytes, 1.5 * queries + values);
  EXPECT_EQ(launches[1].hbm_bytes, 3 * values);
  EXPECT_EQ(launches[1].instance->id, "acsr-unfused/softmax-gradient");
  EXPECT_EQ(launches[2].instance->id, "acsr-unfused/spmm/d64");
  EXPECT_EQ(launches[3].instance->id, "acsr-unfused/spmm-transposed/d64");
  EXPECT_EQ(launches[4].instance, launches[3].instance);
  // Two key heads have two blocks each, seen by two heads of four tiles of rows.
  EXPECT_EQ(launches[3].grid.of_head, std::vector<BlockWork>(4, {8, 0, 1}));
  EXPECT_EQ(launches[3].hbm_bytes, 1.5 * queries + values);
}

TEST(ChainLaunches, OfHeadsByTurnsAreEachHeads) {
  const BlockGrid grid = launches_of(problem_of("window:64/full", 256))[0].grid;
  ASSERT_EQ(grid.of_head.size(), 6u);
  EXPECT_EQ(grid.of_head[0], grid.of_head[4]);
  EXPECT_EQ(grid.of_head[2], (BlockWork{4, 0, 0}));
  EXPECT_EQ(grid.of_head[0].full_tiles, 0);
}

}  // namespace
}  // namespace sparkbench
