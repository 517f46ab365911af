#include "kernels/tile/softmax_gradient.h"

#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

template <Accumulator kAccumulator>
void expect_gradient(float lse, float keep_scale) {
  constexpr float kScaleLog2 = 0.25f, kScore = -3.0f, kDp = 2.5f, kDelta = 0.75f;
  constexpr float kInverse = ProbabilityScale<kAccumulator>::kInverse;
  run({}, [&](EmulatedMachine& machine) {
    RowStatistics row[GridLayout<kAccumulator>::kRowsPerLane];
    for (auto& of_row : row) of_row = row_statistics<kAccumulator>(lse, kDelta, keep_scale);
    float score[1][8], gradient[1][8];
    for (int i = 0; i < 8; ++i) {
      score[0][i] = kScore;
      gradient[0][i] = kDp;
    }
    recompute_probabilities<kAccumulator>(machine, kScaleLog2, row, score);
    score_gradients<kAccumulator>(machine, row, score, gradient);
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

TEST(SoftmaxGradient, LeavesTheScaleOfKeptValuesToTheSums) {
  expect_gradient<Accumulator::kFp32>(-1.5f, 256.0f / 230.0f);
  expect_gradient<Accumulator::kFp16>(-1.5f, 256.0f / 230.0f);
}

TEST(SoftmaxGradient, IsZeroInARowThatSeesNoKey) {
  run({}, [](EmulatedMachine& machine) {
    const RowStatistics row[1] = {row_statistics<Accumulator::kFp16>(-INFINITY, 0.0f, 1.0f)};
    float score[1][8] = {}, gradient[1][8] = {};
    recompute_probabilities<Accumulator::kFp16>(machine, 1.0f, row, score);
    score_gradients<Accumulator::kFp16>(machine, row, score, gradient);
    EXPECT_EQ(score[0][0], 0.0f);
    EXPECT_EQ(gradient[0][0], 0.0f);
  });
}

template <Accumulator kAccumulator>
void expect_own_rows() {
  std::vector<RowStatistics> group(kGridRows);
  for (int row = 0; row < kGridRows; ++row) {
    group[static_cast<std::size_t>(statistics_place(row))] = {static_cast<float>(row), 0.0f};
  }
  const GlobalRegion region{"statistics", group.data(), group.size() * sizeof(RowStatistics), true};
  run({.regions = {&region, 1}}, [&](EmulatedMachine& machine) {
    using Layout = GridLayout<kAccumulator>;
    RowStatistics row[Layout::kRowsPerLane];
    load_statistics<kAccumulator>(machine, group.data(), row);
    for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
      EXPECT_EQ(row[slot].offset, static_cast<float>(Layout::row(machine.lane(), slot)));
    }
  });
}

TEST(RowStatistics, AreThoseOfTheLanesRows) {
  expect_own_rows<Accumulator::kFp32>();
  expect_own_rows<Accumulator::kFp16>();
}

}  // namespace
}  // namespace sparkbench
