#include "sweeps/grid.h"

#include <gtest/gtest.h>

#include "sweeps/axis_flags.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// Two kernels; defaults: one problem of 128 rows, batch and heads automatic.
std::vector<SweepCase> cases_of(const AxisFlags& flags, std::uint64_t seed = 0) {
  const std::vector<std::string> kernels = {"a", "b"};
  const AxisFlags one = {
      {"--headdim", "64"}, {"--seqlen", "128"}, {"--mask", "full"}, {"--dropout", "0"}};
  return expand_grid(make_grid_axes(one, flags, kernels), seed);
}

TEST(Grid, IsTheProductOfItsAxes) {
  const auto cases = cases_of({{"--headdim", "64,128"},
                               {"--seqlen", "77,193"},
                               {"--seqlen-k", "131,500,7"},
                               {"--mask", "full,causal,window:3"},
                               {"--dropout", "0,0.17"}});
  EXPECT_EQ(cases.size(), 2u * 2 * 2 * 3 * 3 * 2);
}

TEST(Grid, KeepsKernelsTogetherAndAxesOrdered) {
  const auto cases = cases_of({{"--headdim", "128,64"}, {"--causal", "both"}}, 9);
  ASSERT_EQ(cases.size(), 8u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].kernel, i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(cases[i].problem.mask, MaskSpec::causal_if(i / 2 % 2 == 1));
    EXPECT_EQ(cases[i].problem.head_dim, i < 4 ? 128 : 64);
    EXPECT_EQ(cases[i].problem.seed, 9u);
    EXPECT_EQ(cases[i].problem.pass, Pass::kForward);
  }
}

TEST(Grid, RepeatsTheProblemsForEachInputAndScale) {
  const auto cases = cases_of({{"--input", "uniform,outliers"}, {"--input-scale", "1,16"}});
  ASSERT_EQ(cases.size(), 8u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].kernel, i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(cases[i].problem.input_scale, i / 2 % 2 == 0 ? 1 : 16);
    EXPECT_EQ(cases[i].problem.input, i < 4 ? "uniform" : "outliers");
  }
}

TEST(Grid, HasEveryMaskInTheOrderTyped) {
  const auto cases = cases_of({{"--kernel", "a"}, {"--mask", "window:256,full,band:20:5"}});
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].problem.mask, MaskSpec::window(256));
  EXPECT_EQ(cases[1].problem.mask, MaskSpec::full());
  EXPECT_EQ(cases[2].problem.mask, MaskSpec::band(20, 5));
}

TEST(Grid, GivesSequencesTheirOwnLengthOfKeys) {
  for (const SweepCase& sweep_case : cases_of({{"--seqlen", "77,193"}})) {
    EXPECT_EQ(sweep_case.problem.seqlen_k, sweep_case.problem.seqlen_q);
  }
}

TEST(Grid, FillsTokensAndHiddenSizeWhenAutomatic) {
  const auto cases = cases_of({{"--seqlen", "512,3000,32768"}});
  EXPECT_EQ(cases[0].problem.batch, 32);
  EXPECT_EQ(cases[0].problem.heads, 32);
  EXPECT_EQ(cases[2].problem.batch, 5);
  EXPECT_EQ(cases[4].problem.batch, 1);
}

TEST(Grid, TakesExplicitBatchAndHeads) {
  const Problem problem =
      cases_of({{"--batch", "3"}, {"--heads", "5"}, {"--hidden", "1"}}).front().problem;
  EXPECT_EQ(problem.batch, 3);
  EXPECT_EQ(problem.heads, 5);
}

TEST(Grid, GivesKeysAsManyHeadsUnlessTold) {
  EXPECT_EQ(cases_of({{"--heads", "6"}}).front().problem.heads_k, 6);
  const auto cases = cases_of({{"--heads", "6"}, {"--heads-k", "1,3"}, {"--kernel", "a"}});
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].problem.heads_k, 1);
  EXPECT_EQ(cases[1].problem.heads_k, 3);
}

TEST(Grid, RefusesHeadsOfKeysNotDividingHeads) {
  try {
    cases_of({{"--heads", "6"}, {"--heads-k", "1,4"}});
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--heads-k: 4 does not divide the 6 heads; allowed: 1, 2, 3, 6");
  }
}

TEST(Grid, RefusesMoreCasesThanAnybodyMeans) {
  try {
    cases_of({{"--seqlen", "1:1024:+1"}, {"--seqlen-k", "1:1024:+1"}});
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "the flags describe 2097152 cases (2 kernels, 1024 --seqlen, 1024 --seqlen-k); "
                 "allowed: at most 32768; give fewer values, or sweep them one after the other");
  }
  EXPECT_EQ(cases_of({{"--seqlen", "1:1024:+1"}, {"--seqlen-k", "1:16:+1"}}).size(), 32768u);
}

TEST(Grid, RoundsAutomaticHeadsDown) {
  EXPECT_EQ(cases_of({{"--headdim", "96"}}).front().problem.heads, 21);
  EXPECT_EQ(cases_of({{"--headdim", "96"}, {"--hidden", "64"}}).front().problem.heads, 1);
}

TEST(Grid, DrawsTheLengthsOfEachProblem) {
  const auto cases = cases_of({{"--kernel", "a"},
                               {"--lengths", "uniform:1:2k,uniform:0:0"},
                               {"--mask", "full,causal"},
                               {"--headdim", "64"}});
  ASSERT_EQ(cases.size(), 4u);
  const CaseProblem &drawn = cases[0].problem, &same = cases[1].problem, &empty = cases[2].problem;
  EXPECT_EQ(drawn.batch, 16);  // 16k tokens in sequences of about 1024
  EXPECT_EQ(drawn.seqlen_q, drawn.lengths->longest_q());
  EXPECT_EQ(drawn.lengths_spec, "uniform:1:2048");
  EXPECT_EQ(drawn.lengths_hash, same.lengths_hash);
  EXPECT_NE(drawn.lengths_hash, empty.lengths_hash);
  EXPECT_EQ(empty.batch, 16 * 1024);
  EXPECT_EQ(empty.total_q, 0);
  EXPECT_EQ(empty.seqlen_q, 0);
}

TEST(Grid, SaysWhetherAnyCaseHasABackwardPass) {
  EXPECT_FALSE(has_backward(cases_of({{"--pass", "fwd"}})));
  EXPECT_TRUE(has_backward(cases_of({{"--pass", "fwd,bwd"}})));
  EXPECT_FALSE(has_backward({}));
}

}  // namespace
}  // namespace sparkbench
