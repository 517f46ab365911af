#include "reference/unfused/unfused_softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sparkbench {
namespace {

TEST(SoftmaxStatistics, OfThreeScoresByHand) {
  // Scores 0, ln 3, 0: weights 1 3 1, so P = 1/5 3/5 1/5 and LSE = ln 5.
  const float ln3 = std::log(3.0f);
  const SoftmaxStatistics statistics = softmax_statistics(std::vector<float>{0.0f, ln3, 0.0f});
  EXPECT_EQ(statistics.max, ln3);
  EXPECT_LE(std::abs(statistics.lse() - std::log(5.0f)), 1e-6f);
  EXPECT_EQ(statistics.p(ElementType::kFp16, 0.0f), to_float(to_half(0.2f)));
  EXPECT_EQ(statistics.p(ElementType::kFp16, ln3), to_float(to_half(0.6f)));
}

TEST(SoftmaxStatistics, OfNoScoresHaveMinusInfinityForLse) {
  EXPECT_EQ(softmax_statistics({}).lse(), -std::numeric_limits<float>::infinity());
}

TEST(WarpSum, AddsByLanesAndThenByAButterfly) {
  // Lane 0 adds 2^24 and then 1, which is lost; the 1 of lane 1 is lost too.
  std::vector<float> values(33, 0.0f);
  values[0] = 0x1p24f;
  values[1] = values[32] = 1.0f;
  EXPECT_EQ(warp_sum(values), 0x1p24f);
  // In lanes 1 and 17 the ones are added first.
  values[32] = 0.0f;
  values[17] = 1.0f;
  EXPECT_EQ(warp_sum(values), 0x1p24f + 2.0f);
}

TEST(UnfusedScores, ScaleInFp32AndRoundToFp16) {
  Problem problem;
  problem.softmax_scale = 0.3f;
  HalfMatrix a(1, 4), b(1, 4);
  a.row(0)[0] = b.row(0)[0] = to_half(3.0f);
  const auto scores = unfused_scores(problem, a, b, {arithmetic_profile("volta")});
  EXPECT_EQ(scores[0], to_float(to_half(9.0f * 0.3f)));
}

}  // namespace
}  // namespace sparkbench
