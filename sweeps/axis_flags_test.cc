#include "sweeps/axis_flags.h"

#include <gtest/gtest.h>

#include "kernels/testing/messages.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Values = std::vector<AxisValue>;

const std::vector<std::string> known_kernels = {"volta-fp32acc", "volta-fp16acc", "unfused-fp16"};

GridAxes quick_with(const AxisFlags& flags) {
  return make_grid_axes(find_preset("quick").flags, flags, known_kernels);
}

std::string error_of(const AxisFlags& flags) {
  return message_of<UsageError>([&] { quick_with(flags); });
}

TEST(AxisFlags, LeaveThePresetWhenNoneIsGiven) {
  const GridAxes grid = quick_with({});
  EXPECT_EQ(grid.kernels, known_kernels);
  EXPECT_EQ(grid.values.at("pass"), Values({"fwd"}));
  EXPECT_EQ(grid.values.at("head_dim"), Values({64, 128}));
  EXPECT_EQ(grid.values.at("seqlen_q"), Values({128, 200}));
  EXPECT_EQ(grid.values.at("seqlen_k"), Values({AxisValue()}));
  EXPECT_EQ(grid.values.at("mask"), Values({"full", "causal"}));
  EXPECT_EQ(grid.values.at("dropout_p"), Values({0.0f, 0.1f}));
  EXPECT_EQ(grid.values.at("input"), Values({"normal"}));
  EXPECT_EQ(grid.values.at("input_scale"), Values({1}));
  EXPECT_EQ(grid.values.at("batch"), Values({1}));
  EXPECT_EQ(grid.values.at("heads"), Values({2}));
}

TEST(AxisFlags, HaveTheFirstValueOfADefault) {
  EXPECT_EQ(first_by_default(find_axis("head_dim")), "64");
  EXPECT_EQ(first_by_default(find_axis("batch")), "auto");
}

TEST(AxisFlags, GiveEveryAxisAValue) {
  const GridAxes grid = make_grid_axes({}, {}, known_kernels);
  for (const Axis* axis : problem_axes()) EXPECT_FALSE(grid.values.at(axis->name).empty());
  EXPECT_EQ(grid.totals.tokens, GridTotals().tokens);
  EXPECT_EQ(grid.totals.hidden, GridTotals().hidden);
}

TEST(AxisFlags, ReplaceWhatTheyName) {
  const GridAxes grid = quick_with({{"--kernel", "volta-*"},
                                    {"--pass", "fwd,bwd,fwd+bwd"},
                                    {"--headdim", "64,128"},
                                    {"--seqlen", "77,193"},
                                    {"--seqlen-k", "131"},
                                    {"--mask", "window:3,full"},
                                    {"--dropout", "0,0.17"},
                                    {"--batch", "3"},
                                    {"--heads", "auto"}});
  EXPECT_EQ(grid.kernels, std::vector<std::string>({"volta-fp32acc", "volta-fp16acc"}));
  EXPECT_EQ(grid.values.at("pass"), Values({"fwd", "bwd", "fwd+bwd"}));
  EXPECT_EQ(grid.values.at("seqlen_q"), Values({77, 193}));
  EXPECT_EQ(grid.values.at("seqlen_k"), Values({131}));
  EXPECT_EQ(grid.values.at("mask"), Values({"window:3", "full"}));
  EXPECT_EQ(grid.values.at("dropout_p"), Values({0.0f, 0.17f}));
  EXPECT_EQ(grid.values.at("batch"), Values({3}));
  EXPECT_EQ(grid.values.at("heads"), Values({AxisValue()}));
}

TEST(AxisFlags, TakeAShorthandOverThePresetsFlag) {
  EXPECT_EQ(quick_with({{"--causal", "true"}}).values.at("mask"), Values({"causal"}));
  const GridAxes grid = make_grid_axes({{"--mask", "full"}}, {{"--causal", "both"}}, {});
  EXPECT_EQ(grid.values.at("mask"), Values({"full", "causal"}));
}

TEST(AxisFlags, RefuseAFlagBesideItsShorthand) {
  EXPECT_EQ(error_of({{"--mask", "full"}, {"--causal", "true"}}),
            "--mask and --causal: the second is a shorthand of the first; give one");
}

TEST(AxisFlags, TakeKnownInputsAndScalesAsExtents) {
  const GridAxes grid = quick_with({{"--input", "outliers,normal"}, {"--input-scale", "1:16:*4"}});
  EXPECT_EQ(grid.values.at("input"), Values({"normal", "outliers"}));
  EXPECT_EQ(grid.values.at("input_scale"), Values({1, 4, 16}));
  const std::string unknown = error_of({{"--input", "gauss"}});
  EXPECT_NE(unknown.find("--input: unknown 'gauss'"), std::string::npos) << unknown;
  const std::string zero = error_of({{"--input-scale", "0"}});
  EXPECT_NE(zero.find("--input-scale: '0' is below 1"), std::string::npos) << zero;
}

TEST(AxisFlags, MakeExtentsAutomaticWhoseTotalIsGiven) {
  GridAxes grid = quick_with({{"--total-tokens", "1k"}, {"--hidden", "256"}});
  EXPECT_EQ(grid.totals.tokens, 1024);
  EXPECT_EQ(grid.values.at("batch"), Values({AxisValue()}));
  EXPECT_EQ(grid.totals.hidden, 256);
  EXPECT_EQ(grid.values.at("heads"), Values({AxisValue()}));

  grid = quick_with(
      {{"--total-tokens", "1k"}, {"--hidden", "256"}, {"--batch", "2"}, {"--heads", "4"}});
  EXPECT_EQ(grid.values.at("batch"), Values({2}));
  EXPECT_EQ(grid.values.at("heads"), Values({4}));
}

TEST(AxisFlags, NameTheFlagThatIsWrong) {
  EXPECT_EQ(error_of({{"--pass", "forward"}}),
            "--pass: unknown 'forward', did you mean 'fwd'?; allowed: fwd, bwd, fwd+bwd");
  EXPECT_EQ(error_of({{"--seqlen-k", "0"}}).substr(0, 27), "--seqlen-k: '0' is below 1;");
  EXPECT_EQ(error_of({{"--hidden", "64,128"}}),
            "--hidden: '64,128' is a list; allowed: one whole number from 1 to 16m");
}

TEST(AreGiven, SeesAFlagAndItsShorthand) {
  const Axis& mask = find_axis("mask");
  EXPECT_FALSE(are_given({{"--seqlen", "5"}}, mask));
  EXPECT_TRUE(are_given({{"--mask", "full"}}, mask));
  EXPECT_TRUE(are_given({{"--causal", "true"}}, mask));
}

TEST(LengthsFlag, StandsInPlaceOfOtherLengths) {
  const GridAxes grid = quick_with({{"--lengths", "uniform:1:2k,uniform:0:7"}});
  EXPECT_EQ(grid.values.at("lengths"), Values({"uniform:1:2048", "uniform:0:7"}));
  EXPECT_EQ(grid.values.at("seqlen_q"), Values({AxisValue()}));
  EXPECT_EQ(grid.values.at("seqlen_k"), Values({AxisValue()}));
  EXPECT_EQ(grid.values.at("batch"), Values({AxisValue()}));  // not the preset's
  EXPECT_EQ(quick_with({{"--lengths", "uniform:1:2k"}, {"--batch", "5"}}).values.at("batch"),
            Values({5}));
}

TEST(LengthsFlag, ExcludesTheOthers) {
  EXPECT_EQ(error_of({{"--lengths", "uniform:1:2"}, {"--seqlen", "64"}}),
            "--lengths and --seqlen: both say how long sequences are; give one");
  EXPECT_EQ(error_of({{"--lengths", "uniform:1:2"}, {"--seqlen-k", "64"}}),
            "--lengths and --seqlen-k: both say how long sequences are; give one");
  EXPECT_EQ(error_of({{"--lengths", "none"}, {"--seqlen", "64"}}), "");
}

TEST(LengthsFlag, OfAPresetGivesWayToSeqlen) {
  const AxisFlags& preset = find_preset("ragged").flags;
  EXPECT_EQ(make_grid_axes(preset, {}, known_kernels).values.at("lengths"),
            Values({"uniform:1:2048"}));
  const GridAxes grid = make_grid_axes(preset, {{"--seqlen", "64"}}, known_kernels);
  EXPECT_EQ(grid.values.at("lengths"), Values({AxisValue()}));
  EXPECT_EQ(grid.values.at("seqlen_q"), Values({64}));
}

TEST(LengthsFlag, ReplacesSeqlenWhereItIsSaid) {
  EXPECT_TRUE(are_replaced({{"--lengths", "uniform:1:2"}}, find_axis("seqlen_q")));
  EXPECT_FALSE(are_replaced({{"--lengths", "none"}}, find_axis("seqlen_q")));
  EXPECT_FALSE(are_replaced({{"--lengths", "uniform:1:2"}}, find_axis("mask")));
}

}  // namespace
}  // namespace sparkbench
