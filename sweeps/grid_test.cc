#include "sweeps/grid.h"

#include <gtest/gtest.h>

#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

GridAxes small_axes() {
  GridAxes axes;
  axes.kernels = {"a", "b"};
  axes.head_dims = {64};
  axes.seqlens_q = {128};
  axes.causal = {false};
  axes.dropout_p = {0.0f};
  return axes;
}

std::string error_of(const GridAxes& axes) {
  try {
    expand_grid(axes, 0);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Grid, IsTheProductOfItsAxes) {
  GridAxes axes = small_axes();
  axes.head_dims = {64, 128};
  axes.seqlens_q = {77, 193};
  axes.seqlens_k = {131, 500, 7};
  axes.causal = {false, true};
  axes.dropout_p = {0.0f, 0.17f};
  EXPECT_EQ(expand_grid(axes, 0).size(), 2u * 2 * 2 * 3 * 2 * 2);
}

TEST(Grid, KeepsTheKernelsOfAProblemTogetherAndTheOrderOfTheAxes) {
  GridAxes axes = small_axes();
  axes.head_dims = {128, 64};
  axes.causal = {false, true};
  const std::vector<SweepCase> cases = expand_grid(axes, 9);
  ASSERT_EQ(cases.size(), 8u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].kernel, i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(cases[i].problem.mask, MaskSpec::causal_if(i / 2 % 2 == 1));
    EXPECT_EQ(cases[i].problem.head_dim, i < 4 ? 128 : 64);
    EXPECT_EQ(cases[i].problem.seed, 9u);
    EXPECT_EQ(cases[i].pass, Pass::kForward);
  }
}

TEST(Grid, RepeatsTheProblemsForEachInputAndScale) {
  GridAxes axes = small_axes();
  axes.inputs = {"uniform", "outliers"};
  axes.input_scales = {1, 16};
  const std::vector<SweepCase> cases = expand_grid(axes, 0);
  ASSERT_EQ(cases.size(), 8u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].kernel, i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(cases[i].input_scale, i / 2 % 2 == 0 ? 1 : 16);
    EXPECT_EQ(cases[i].input, i < 4 ? "uniform" : "outliers");
  }
}

TEST(Grid, GivesEachSequenceItsOwnLengthOfKeysByDefault) {
  GridAxes axes = small_axes();
  axes.seqlens_q = {77, 193};
  for (const SweepCase& sweep_case : expand_grid(axes, 0)) {
    EXPECT_EQ(sweep_case.problem.seqlen_k, sweep_case.problem.seqlen_q);
  }
}

TEST(Grid, FillsTheTokensAndTheHiddenSizeWhenAutomatic) {
  GridAxes axes = small_axes();
  axes.seqlens_q = {512, 3000, 32768};
  const std::vector<SweepCase> cases = expand_grid(axes, 0);
  EXPECT_EQ(cases[0].problem.batch, 32);
  EXPECT_EQ(cases[0].problem.heads, 32);
  EXPECT_EQ(cases[2].problem.batch, 5);
  EXPECT_EQ(cases[4].problem.batch, 1);
}

TEST(Grid, TakesExplicitBatchAndHeads) {
  GridAxes axes = small_axes();
  axes.batch = 3;
  axes.heads = 5;
  axes.hidden = 1;
  const Problem problem = expand_grid(axes, 0).front().problem;
  EXPECT_EQ(problem.batch, 3);
  EXPECT_EQ(problem.heads, 5);
}

TEST(Grid, RefusesAHeadDimThatDoesNotDivideTheHiddenSize) {
  GridAxes axes = small_axes();
  axes.head_dims = {96};
  EXPECT_EQ(error_of(axes),
            "--headdim: 96 does not divide the hidden size 2048; allowed: its divisors, another "
            "--hidden, or an explicit --heads");
}

TEST(Grid, RefusesAnEmptyAxis) {
  GridAxes axes = small_axes();
  axes.kernels = {};
  EXPECT_EQ(error_of(axes), "--kernel: no value; at least one is needed");
  axes = small_axes();
  axes.seqlens_q = {};
  EXPECT_EQ(error_of(axes), "--seqlen: no value; at least one is needed");
}

}  // namespace
}  // namespace sparkbench
