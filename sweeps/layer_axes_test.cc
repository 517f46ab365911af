#include "sweeps/layer_axes.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/testing/messages.h"
#include "sweeps/axis_flags.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

const std::vector<std::string> one_kernel = {"kernel"};

const AxisFlags one_layer = {{"--headdim", "64"},
                             {"--seqlen", "512"},
                             {"--mask", "full"},
                             {"--dropout", "0"},
                             {"--rest", "fused"}};

std::vector<SweepCase> layers_of(const AxisFlags& preset, const AxisFlags& given = {}) {
  return expand_grid(make_grid_axes(preset, given, one_kernel, Workload::kLayer), 0);
}

std::string refusal_of(const AxisFlags& given) {
  return message_of<UsageError>([&] { layers_of(one_layer, given); });
}

TEST(LayerAxes, HaveFlagsOfTheirOwnAmongThoseOfLayers) {
  std::set<std::string> names, flags;
  for (const Axis* axis : axes_of(Workload::kLayer)) {
    EXPECT_TRUE(names.insert(axis->name).second) << axis->name;
    EXPECT_TRUE(flags.insert(axis->flag).second) << axis->flag;
  }
  EXPECT_TRUE(flags.contains("--ffn") && flags.contains("--seqlen"));
  EXPECT_TRUE(flags.contains("--lengths"));
  EXPECT_FALSE(flags.contains("--heads") || flags.contains("--seqlen-k"));
}

TEST(LayerAxes, HaveNoValueWithoutALayer) {
  for (const Axis* axis : layer_axes()) {
    EXPECT_TRUE(is_none(axis->access.get(CaseProblem()))) << axis->name;
  }
}

TEST(LayerAxes, MakeTheHeadsOfTheAttention) {
  const auto cases = layers_of(one_layer, {{"--hidden", "256,768"}, {"--headdim", "32,64"}});
  ASSERT_EQ(cases.size(), 4u);
  for (const SweepCase& each : cases) {
    ASSERT_TRUE(each.problem.layer);
    EXPECT_EQ(why_no_layer(*each.problem.layer, each.problem), "");
    EXPECT_EQ(each.problem.layer->ffn, 4 * each.problem.layer->hidden);
  }
  EXPECT_EQ(cases[3].problem.heads, 12);
}

TEST(LayerAxes, RefuseWhatIsNoLayer) {
  EXPECT_EQ(refusal_of({{"--hidden", "100"}}),
            "--hidden: 100 is not a multiple of head_dim 64; allowed: its multiples");
  EXPECT_NE(refusal_of({{"--activation", "gelu"}}).find("--activation: unknown 'gelu'"),
            std::string::npos);
  EXPECT_NE(refusal_of({{"--ffn", "0"}}).find("--ffn"), std::string::npos);
}

TEST(LayerAxes, AreInTheFlagsThatRepeatAProblem) {
  const auto cases =
      layers_of(one_layer, {{"--seqlen", "128"}, {"--norm", "pre"}, {"--rest", "unfused"}});
  EXPECT_EQ(flags_of_problem(cases.front().problem, false),
            "--pass fwd --headdim 64 --seqlen 128 --mask full --dropout 0 --dropout-scale applied "
            "--batch 128 --hidden 2048 --ffn 8192 --activation gelu-tanh --norm pre --bias true "
            "--rest unfused");
}

TEST(LayerPreset, PaperEncoderIsThePapersGridAndItsGaps) {
  const auto cases = layers_of(find_preset("paper-encoder", Workload::kLayer).flags);
  EXPECT_EQ(cases.size(), 2u * 6 * 2 * 2 * 2 * 2);
  std::set<int> lengths, ffns;
  for (const SweepCase& each : cases) {
    EXPECT_EQ(each.problem.batch * each.problem.seqlen_q, 16384);
    lengths.insert(each.problem.seqlen_q);
    ffns.insert(each.problem.layer->ffn);
  }
  EXPECT_TRUE(lengths.contains(8192));
  EXPECT_EQ(ffns, std::set<int>({2048, 8192}));
}

TEST(LayerPreset, IsNoneOfAttentionAlone) {
  EXPECT_THROW(find_preset("paper-encoder"), UsageError);
  EXPECT_THROW(find_preset("quick", Workload::kLayer), UsageError);
}

}  // namespace
}  // namespace sparkbench
