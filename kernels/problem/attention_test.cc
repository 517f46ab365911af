#include "kernels/problem/attention.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(Problem, ScalesByTheHeadDimsRootUnlessGiven) {
  Problem problem;
  problem.head_dim = 64;
  EXPECT_EQ(problem.scale(), 0.125f);
  problem.softmax_scale = 0.5f;
  EXPECT_EQ(problem.scale(), 0.5f);
}

TEST(Problem, CountsElementsBeyond32Bits) {
  Problem problem{.batch = 64, .heads = 64, .seqlen_q = 16384, .seqlen_k = 32768, .head_dim = 128};
  EXPECT_EQ(problem.q_elements(), std::size_t{1} << 33);
  EXPECT_EQ(problem.k_elements(), std::size_t{1} << 34);
  EXPECT_EQ(problem.lse_elements(), std::size_t{1} << 26);
}

TEST(Dropout, AppliesPIn256thsAndKeepsSomething) {
  EXPECT_EQ(make_dropout(0.0f, 1).threshold, 0u);
  EXPECT_EQ(make_dropout(0.1f, 1).threshold, 26u);
  EXPECT_EQ(make_dropout(0.5f, 1).threshold, 128u);
  EXPECT_EQ(make_dropout(0.999f, 1).threshold, 255u);
  EXPECT_EQ(make_dropout(0.5f, 1).keep_scale, 2.0f);
  EXPECT_EQ(make_dropout(0.17f, 1).keep_scale, 256.0f / 212.0f);
  EXPECT_EQ(make_dropout(0.17f, 1, DropoutScale::kAsked).keep_scale, 1.0f / (1.0f - 0.17f));
  EXPECT_EQ(make_dropout(0.001f, 1, DropoutScale::kAsked).keep_scale, 1.0f);  // drops nothing
}

}  // namespace
}  // namespace sparkbench
