#include "kernels/tile/softmax_gradient.h"

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {
namespace {

template <Accumulator kAccumulator>
void expect_gradient(float lse, float keep_scale) {
  constexpr float kScaleLog2 = 0.25f, kScore = -3.0f, kDp = 2.5f, kDelta = 0.75f;
  using Layout = GridLayout<kAccumulator>;
  using Scale = ProbabilityScale<kAccumulator>;
  constexpr float kInverse = Scale::kInverse;
  run({}, [&](EmulatedMachine& machine) {
    RowStatistics row[Layout::kRowsPerLane];
    for (auto& of_row : row) of_row = row_statistics<Scale>(lse, kDelta, keep_scale);
    float score[1][8], gradient[1][8];
    for (int i = 0; i < 8; ++i) {
      score[0][i] = kScore;
      gradient[0][i] = kDp;
    }
    recompute_probabilities<Layout>(machine, kScaleLog2, row, score);
    score_gradients<Layout, Scale>(machine, row, score, gradient);
    const float p = std::exp2(kScore * kScaleLog2) * std::exp(-lse);
    for (int i = 0; i < 8; ++i) {
      EXPECT_NEAR(score[0][i] * kInverse, p, 1e-5f * p);
      const float want = p * (kDp * keep_scale - kDelta);
      EXPECT_NEAR(gradient[0][i] * keep_scale, want, 1e-5f * std::abs(want));
    }
  });
}

TEST(SoftmaxGradient, IsPAndDsAsDefined) {
  expect_gradient<Accumulator::kFp32>(0.5f, 1.0f);
  expect_gradient<Accumulator::kFp16>(0.5f, 1.0f);
}

TEST(SoftmaxGradient, LeavesKeptValuesScaleToTheSums) {
  expect_gradient<Accumulator::kFp32>(-1.5f, 256.0f / 230.0f);
  expect_gradient<Accumulator::kFp16>(-1.5f, 256.0f / 230.0f);
}

TEST(SoftmaxGradient, IsZeroInARowWithoutAKey) {
  run({}, [](EmulatedMachine& machine) {
    const RowStatistics row[1] = {
        row_statistics<ProbabilityScale<Accumulator::kFp16>>(-INFINITY, 0.0f, 1.0f)};
    float score[1][8] = {}, gradient[1][8] = {};
    recompute_probabilities<GridLayout<Accumulator::kFp16>>(machine, 1.0f, row, score);
    score_gradients<GridLayout<Accumulator::kFp16>, ProbabilityScale<Accumulator::kFp16>>(
        machine, row, score, gradient);
    EXPECT_EQ(score[0][0], 0.0f);
    EXPECT_EQ(gradient[0][0], 0.0f);
  });
}

}  // namespace
}  // namespace sparkbench
