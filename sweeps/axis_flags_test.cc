#include "sweeps/axis_flags.h"

#include <gtest/gtest.h>

#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

const std::vector<std::string> known_kernels = {"volta-fp32acc", "volta-fp16acc", "unfused-fp16"};

GridAxes quick_with(const AxisFlags& flags) {
  return apply_axis_flags(find_preset("quick").axes, flags, known_kernels);
}

std::string error_of(const AxisFlags& flags) {
  try {
    quick_with(flags);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(AxisFlags, LeaveThePresetAsItIsAndTakeEveryKernelWhenNoneIsGiven) {
  const GridAxes& preset = find_preset("quick").axes;
  const GridAxes axes = quick_with({});
  EXPECT_EQ(axes.kernels, known_kernels);
  EXPECT_EQ(axes.passes, preset.passes);
  EXPECT_EQ(axes.head_dims, preset.head_dims);
  EXPECT_EQ(axes.seqlens_q, preset.seqlens_q);
  EXPECT_EQ(axes.seqlens_k, preset.seqlens_k);
  EXPECT_EQ(axes.causal, preset.causal);
  EXPECT_EQ(axes.dropout_p, preset.dropout_p);
  EXPECT_EQ(axes.batch, preset.batch);
  EXPECT_EQ(axes.heads, preset.heads);
}

TEST(AxisFlags, ReplaceWhatTheyName) {
  AxisFlags flags;
  flags.kernel = "volta-*";
  flags.pass = "fwd,bwd,fwd+bwd";
  flags.head_dim = "64,128";
  flags.seqlen = "77,193";
  flags.seqlen_k = "131";
  flags.causal = "both";
  flags.dropout = "0,0.17";
  flags.batch = "3";
  flags.heads = "auto";
  const GridAxes axes = quick_with(flags);
  EXPECT_EQ(axes.kernels, std::vector<std::string>({"volta-fp32acc", "volta-fp16acc"}));
  EXPECT_EQ(axes.passes,
            std::vector<Pass>({Pass::kForward, Pass::kBackward, Pass::kForwardBackward}));
  EXPECT_EQ(axes.head_dims, std::vector<int>({64, 128}));
  EXPECT_EQ(axes.seqlens_q, std::vector<int>({77, 193}));
  EXPECT_EQ(axes.seqlens_k, std::vector<int>({131}));
  EXPECT_EQ(axes.causal, std::vector<bool>({false, true}));
  EXPECT_EQ(axes.dropout_p, std::vector<float>({0.0f, 0.17f}));
  EXPECT_EQ(axes.batch, 3);
  EXPECT_EQ(axes.heads, std::nullopt);
}

TEST(AxisFlags, TakeTheInputsThatTheyNameAndScalesAsExtents) {
  AxisFlags flags;
  flags.input = "outliers,normal";
  flags.input_scale = "1:16:*4";
  const GridAxes axes = quick_with(flags);
  EXPECT_EQ(axes.inputs, std::vector<std::string>({"normal", "outliers"}));
  EXPECT_EQ(axes.input_scales, std::vector<int>({1, 4, 16}));
  flags.input = "gauss";
  EXPECT_NE(error_of(flags).find("--input: unknown 'gauss'"), std::string::npos) << error_of(flags);
  flags.input = "normal";
  flags.input_scale = "0";
  EXPECT_NE(error_of(flags).find("--input-scale: '0' is below 1"), std::string::npos)
      << error_of(flags);
}

TEST(AxisFlags, MakeBatchAndHeadsAutomaticWhenTheirTotalIsGiven) {
  AxisFlags flags;
  flags.total_tokens = "1k";
  flags.hidden = "256";
  GridAxes axes = quick_with(flags);
  EXPECT_EQ(axes.total_tokens, 1024);
  EXPECT_EQ(axes.batch, std::nullopt);
  EXPECT_EQ(axes.hidden, 256);
  EXPECT_EQ(axes.heads, std::nullopt);

  flags.batch = "2";
  flags.heads = "4";
  axes = quick_with(flags);
  EXPECT_EQ(axes.batch, 2);
  EXPECT_EQ(axes.heads, 4);
}

TEST(AxisFlags, NameTheFlagThatIsWrong) {
  AxisFlags flags;
  flags.pass = "forward";
  EXPECT_EQ(error_of(flags), "--pass: unknown 'forward'; allowed: fwd, bwd, fwd+bwd");
  flags = {};
  flags.seqlen_k = "0";
  EXPECT_EQ(error_of(flags).substr(0, 27), "--seqlen-k: '0' is below 1;");
  flags = {};
  flags.hidden = "64,128";
  EXPECT_EQ(error_of(flags),
            "--hidden: '64,128' is a list; allowed: one whole number from 1 to 16m");
}

}  // namespace
}  // namespace sparkbench
