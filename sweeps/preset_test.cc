#include "sweeps/preset.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sweeps/usage_error.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

std::vector<SweepCase> cases_of(std::string_view preset) {
  GridAxes axes = find_preset(preset).axes;
  axes.kernels = {"kernel"};
  return expand_grid(axes, 0);
}

TEST(Preset, ExpandsWithoutErrorAndLeavesTheKernelsOpen) {
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(preset.axes.kernels.empty()) << preset.name;
    EXPECT_FALSE(preset.summary.empty()) << preset.name;
    EXPECT_FALSE(cases_of(preset.name).empty()) << preset.name;
  }
}

TEST(Preset, QuickCoversBothHeadDimsMasksAndDropoutsWithLittleWork) {
  const std::vector<SweepCase> cases = cases_of("quick");
  EXPECT_EQ(cases.size(), 16u);
  std::uint64_t flops = 0;
  for (const SweepCase& sweep_case : cases) {
    flops += useful_flops(sweep_case.pass, sweep_case.problem);
  }
  // The emulator computes one head of 512 x 512 x 64, 67 MFLOP, in about 0.15 s on two cores.
  EXPECT_LT(flops, 100 * 67'000'000ull);
}

TEST(Preset, PaperForwardIsThePapersGrid) {
  const std::vector<SweepCase> cases = cases_of("paper-forward");
  EXPECT_EQ(cases.size(), 2u * 6 * 2 * 2);
  for (const SweepCase& sweep_case : cases) {
    EXPECT_EQ(sweep_case.problem.batch * sweep_case.problem.seqlen_q, 16384);
    EXPECT_EQ(sweep_case.problem.heads * sweep_case.problem.head_dim, 2048);
  }
}

TEST(Preset, SuggestsTheNearestName) {
  try {
    find_preset("quik");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--preset: unknown 'quik', did you mean 'quick'?; allowed: quick, paper-forward, "
                 "paper-accuracy");
  }
}

}  // namespace
}  // namespace sparkbench
