#include "sweeps/preset.h"

#include <gtest/gtest.h>

#include <set>

#include "sweeps/axis_flags.h"
#include "sweeps/usage_error.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

std::vector<SweepCase> cases_of(std::string_view preset, const AxisFlags& given = {}) {
  const std::vector<std::string> kernels = {"kernel"};
  return expand_preset(find_preset(preset), given, kernels, Workload::kAttention, 0);
}

TEST(Preset, ExpandsWithoutErrorAndLeavesTheKernelsOpen) {
  for (const Preset& preset : presets(Workload::kAttention)) {
    EXPECT_FALSE(preset.flags.contains("--kernel")) << preset.name;
    EXPECT_FALSE(preset.summary.empty()) << preset.name;
    EXPECT_FALSE(cases_of(preset.name).empty()) << preset.name;
  }
}

TEST(Preset, NoneIsTheQuestionThatUsersAsk) {
  const std::vector<SweepCase> cases = cases_of("");
  EXPECT_EQ(cases.size(), 2u * 2 * 2);
  for (const SweepCase& each : cases) {
    EXPECT_EQ(each.problem.heads * each.problem.head_dim, 2048);
    EXPECT_EQ(each.problem.batch * each.problem.seqlen_q, 16384);
    EXPECT_EQ(each.problem.dropout_p, 0.1f);
  }
}

TEST(Preset, ModelsHaveNamesAndShapesOfTheirOwn) {
  std::set<std::string> names;
  for (const SweepCase& each : cases_of("models")) {
    EXPECT_TRUE(names.insert(each.problem.model.value_or("")).second) << *each.problem.model;
  }
  EXPECT_EQ(names.size(), find_preset("models").models.size());
  EXPECT_GE(names.size(), 15u);
}

TEST(Preset, ModelsTakeAFlagForEachOfThem) {
  for (const SweepCase& each : cases_of("models", {{"--pass", "fwd"}, {"--dropout", "0.2"}})) {
    EXPECT_EQ(each.problem.pass, Pass::kForward);
    EXPECT_EQ(each.problem.dropout_p, 0.2f);
  }
}

TEST(Preset, QuickCoversEveryPairWithLittleWork) {
  const std::vector<SweepCase> cases = cases_of("quick");
  EXPECT_EQ(cases.size(), 16u);
  std::uint64_t flops = 0;
  for (const SweepCase& sweep_case : cases) {
    flops += useful_flops(sweep_case.problem.pass, sweep_case.problem);
  }
  // The emulator computes one head of 512 x 512 x 64, 67 MFLOP, in about 0.15 s on two cores.
  EXPECT_LT(flops, 100 * 67'000'000ull);
}

TEST(Preset, SplatIsOfTenToFiftyPercent) {
  const std::vector<SweepCase> cases = cases_of("splat");
  EXPECT_EQ(cases.size(), 2u * 9);
  for (const SweepCase& sweep_case : cases) {
    const PairCounts pairs = pairs_of(sweep_case.problem);
    const double density = static_cast<double>(pairs.visible) / static_cast<double>(pairs.all);
    EXPECT_GT(density, 0.09);
    EXPECT_LT(density, 0.51);
  }
}

TEST(Preset, PaperForwardIsThePapersGrid) {
  const std::vector<SweepCase> cases = cases_of("paper-forward");
  EXPECT_EQ(cases.size(), 2u * 6 * 2 * 2);
  for (const SweepCase& sweep_case : cases) {
    EXPECT_EQ(sweep_case.problem.batch * sweep_case.problem.seqlen_q, 16384);
    EXPECT_EQ(sweep_case.problem.heads * sweep_case.problem.head_dim, 2048);
  }
}

TEST(Preset, PaperBackwardIsTheSameGridBackward) {
  const std::vector<SweepCase> forward = cases_of("paper-forward");
  const std::vector<SweepCase> backward = cases_of("paper-backward");
  ASSERT_EQ(backward.size(), forward.size());
  for (std::size_t i = 0; i < backward.size(); ++i) {
    EXPECT_EQ(backward[i].problem.pass, Pass::kBackward);
    EXPECT_EQ(backward[i].problem.seqlen_q, forward[i].problem.seqlen_q);
    EXPECT_EQ(backward[i].problem.batch, forward[i].problem.batch);
    EXPECT_EQ(backward[i].problem.heads, forward[i].problem.heads);
    EXPECT_EQ(backward[i].problem.dropout_p, forward[i].problem.dropout_p);
  }
}

TEST(Preset, PaperAccuracyIsForwardUnlessAsked) {
  const std::vector<SweepCase> forward = cases_of("paper-accuracy");
  const std::vector<SweepCase> backward = cases_of("paper-accuracy", {{"--pass", "bwd"}});
  ASSERT_EQ(forward.size(), backward.size());
  for (std::size_t i = 0; i < forward.size(); ++i) {
    EXPECT_EQ(forward[i].problem.pass, Pass::kForward);
    EXPECT_EQ(backward[i].problem.pass, Pass::kBackward);
  }
}

TEST(Preset, AccuracyInputsGrowsDistributionsByPowersOfTwo) {
  const GridAxes grid = make_grid_axes(find_preset("accuracy-inputs").flags, {}, {});
  EXPECT_EQ(grid.values.at("input"), std::vector<AxisValue>({"normal", "uniform", "outliers"}));
  const std::vector<AxisValue>& scales = grid.values.at("input_scale");
  EXPECT_EQ(scales.front(), AxisValue(1));
  EXPECT_EQ(scales.back(), AxisValue(65536));  // more than fp16 can represent
  for (std::size_t i = 1; i < scales.size(); ++i) {
    EXPECT_EQ(std::get<int>(scales[i]), 2 * std::get<int>(scales[i - 1]));
  }
}

TEST(Preset, SuggestsTheNearestName) {
  try {
    find_preset("quik");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "--preset: unknown 'quik', did you mean 'quick'?; allowed: models, quick, paper-forward, "
        "paper-backward, paper-accuracy, ragged, splat, judge, accuracy-inputs");
  }
}

TEST(Preset, RaggedHasLengthsAndTheirTokens) {
  for (const SweepCase& sweep_case : cases_of("ragged")) {
    EXPECT_EQ(sweep_case.problem.lengths_spec, "uniform:1:2048");
    EXPECT_EQ(sweep_case.problem.batch, 16);
    EXPECT_LE(sweep_case.problem.seqlen_q, 2048);
  }
  for (const SweepCase& sweep_case : cases_of("ragged", {{"--seqlen", "64"}})) {
    EXPECT_EQ(sweep_case.problem.lengths, nullptr);
    EXPECT_EQ(sweep_case.problem.seqlen_q, 64);
  }
}

TEST(Preset, ComparesTimesOnlyWhereThereIsAClockAndThenWithOtherKernels) {
  const std::vector<std::string> known = {"mine", "other", "third"};
  const auto speed_cases = [&](const Comparison& comparison) {
    std::set<std::string> kernels;
    for (const SweepCase& each : expand_preset(find_preset("judge"), {{"--kernel", "mine"}}, known,
                                               Workload::kAttention, 0, comparison)) {
      if (each.problem.model != "speed") {
        EXPECT_EQ(each.kernel, "mine");
      } else {
        kernels.insert(each.kernel);
      }
    }
    return kernels;
  };
  EXPECT_TRUE(speed_cases({}).empty());
  EXPECT_EQ(speed_cases({true, {"other"}}), (std::set<std::string>{"mine", "other"}));
}

}  // namespace
}  // namespace sparkbench
