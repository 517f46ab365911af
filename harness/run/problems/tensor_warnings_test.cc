#include "harness/run/problems/tensor_warnings.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

std::vector<Half> halves(const std::vector<float>& values) {
  std::vector<Half> result;
  for (const float value : values) result.push_back(to_half(value));
  return result;
}

TEST(SmallValues, AreSubnormalBelowTheLeastNormalNumber) {
  const SmallValues small =
      count_small_values("q", halves({0.0f, 0x1p-14f, -0x1p-15f, 0x1p-24f, 1.0f}), 7);
  EXPECT_EQ(small.elements, 5u);
  EXPECT_EQ(small.subnormal, 2u);
  EXPECT_EQ(small.vanished, 7u);
  EXPECT_FALSE(small.is_all_zero);
  EXPECT_TRUE(count_small_values("q", halves({0.0f, -0.0f}), 0).is_all_zero);
}

TEST(WarnOfSmallValues, SaysNothingOfNormalTensors) {
  EXPECT_TRUE(warn_of_small_values({{"q", 10, 0, 0, false}, {"d_o", 10, 0, 0, false}}).empty());
  EXPECT_TRUE(warn_of_small_values({{"k", 1000, 0, 1, false}}).empty());
  EXPECT_EQ(warn_of_small_values({{"k", 1000, 0, 2, false}}).size(), 1u);
  EXPECT_EQ(warn_of_small_values({{"k", 1000, 1, 0, false}}).size(), 1u);
}

TEST(WarnOfSmallValues, NamesEveryTensorAndWhatToDo) {
  const auto warnings = warn_of_small_values(
      {{"q", 10, 0, 10, false}, {"v", 10, 0, 4, false}, {"d_o", 100, 5, 60, false}});
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].code, "W-INPUT-UNDERFLOW");
  EXPECT_EQ(warnings[0].message,
            "too small for fp16, and became 0: 5 of 100 values of 'd_o'; scale the loss "
            "(torch.amp.GradScaler) before d_o is taken, and divide dq, dk and dv by the scale");
  EXPECT_EQ(warnings[0].value, 5.0);
  EXPECT_EQ(warnings[1].code, "W-INPUT-SUBNORMAL");
  EXPECT_EQ(warnings[1].message,
            "subnormal in fp16, below 6.1e-05, where digits are lost: all 10 values of 'q', 4 of "
            "10 values of 'v', 60 of 100 values of 'd_o'; multiply q by a power of two and divide "
            "k by it: the scores stay; multiply v by a power of two, and divide the output by it; "
            "scale the loss (torch.amp.GradScaler) before d_o is taken, and divide dq, dk and dv "
            "by the scale");
  EXPECT_EQ(warnings[1].value, 74.0);
}

TEST(WarnOfSmallValues, TellsOfATensorOfZeros) {
  const auto warnings = warn_of_small_values({{"v", 4, 0, 0, true}, {"d_o", 4, 0, 0, true}});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, "W-INPUT-ZERO");
  EXPECT_EQ(warnings[0].message,
            "every value of 'v' and 'd_o' is 0, and errors say little: did they vanish before they "
            "were saved?");
}

Problem with(int heads, int seqlen_q, int seqlen_k) {
  Problem problem;
  problem.heads = heads;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  return problem;
}

TEST(WarnOfTransposed, FindsLengthsBelowTheNumberOfHeads) {
  const auto warning = warn_of_transposed(with(512, 16, 16));
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(warning->code, "W-TRANSPOSED");
  EXPECT_EQ(warning->message,
            "seqlen 16 is less than heads 512: are the tensors [batch, heads, seqlen, head_dim]? "
            "Read is [batch, seqlen, heads, head_dim]; save x.transpose(1, 2)");
}

TEST(WarnOfTransposed, TakesOneQueryBesideManyKeys) {
  EXPECT_FALSE(warn_of_transposed(with(32, 1, 4096)).has_value());
  EXPECT_FALSE(warn_of_transposed(with(16, 16, 16)).has_value());
}

}  // namespace
}  // namespace sparkbench
