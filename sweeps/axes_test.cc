#include "sweeps/axes.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/testing/messages.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::string error_of(const char* axis, const std::string& text) {
  const Axis& row = find_axis(axis);
  return message_of<UsageError>([&] { row.parse(row.flag, text); });
}

TEST(Axes, HaveNamesAndFlagsOfTheirOwn) {
  std::set<std::string> names, flags;
  for (const Axis& axis : axes()) {
    EXPECT_TRUE(names.insert(axis.name).second) << axis.name;
    EXPECT_TRUE(flags.insert(axis.flag).second) << axis.flag;
    const char* const shorthand = axis.shorthand.flag;
    EXPECT_TRUE(shorthand == nullptr || flags.insert(shorthand).second) << axis.name;
    EXPECT_STRNE(axis.help, "") << axis.name;
    EXPECT_NE(axis.allowed, "") << axis.name;
  }
}

TEST(Axes, TakeTheirInitialValues) {
  for (const Axis* axis : problem_axes()) {
    const std::vector<AxisValue> values = axis->parse(axis->flag, axis->initial);
    ASSERT_FALSE(values.empty()) << axis->name;
    for (const AxisValue& value : values) {
      // If an axis has no default, the other axes determine its value.
      EXPECT_EQ(is_none(value), axis->derive != nullptr) << axis->name;
    }
  }
}

TEST(Axes, GiveBackWhatWasSet) {
  for (const Axis* axis : problem_axes()) {
    CaseProblem problem;
    problem.heads = 7;  // heads_k must divide it
    const bool is_of_lengths = axis == &find_axis("lengths");
    const char* const text = is_of_lengths             ? "uniform:1:7"
                             : axis->derive != nullptr ? "7"
                                                       : axis->initial;
    const AxisValue value = axis->parse(axis->flag, text).front();
    axis->access.set(problem, value);
    EXPECT_EQ(axis->access.get(problem), value) << axis->name;
  }
}

TEST(Axes, AreRecordedInTheOrderOfIds) {
  std::vector<std::string> names;
  for (const Axis* axis : recorded_axes()) names.emplace_back(axis->name);
  ASSERT_EQ(names.size(), problem_axes().size());
  names.resize(10);  // the oldest axes; later ones follow
  EXPECT_EQ(names,
            std::vector<std::string>({"pass", "batch", "heads", "seqlen_q", "seqlen_k", "head_dim",
                                      "mask", "dropout_p", "input", "input_scale"}));
}

TEST(MaskAxis, KeepsTheOrderTypedAndEachOnce) {
  const Axis& mask = find_axis("mask");
  EXPECT_EQ(mask.parse("--mask", "window:256,full,band:20:5,prefix:9,causal,full"),
            std::vector<AxisValue>({"window:256", "full", "band:20:5", "prefix:9", "causal"}));
}

TEST(MaskAxis, TakesPatternsInTheirNormalForm) {
  const Axis& mask = find_axis("mask");
  EXPECT_EQ(mask.parse("--mask", "sink:4+window:1k,window:1k/full,causal-window:3,causal-chunk:9"),
            std::vector<AxisValue>(
                {"sink:4+window:1024", "window:1024/full", "window:3", "causal-chunk:9"}));
  CaseProblem problem;
  mask.access.set(problem, "chunk:9");
  EXPECT_EQ(mask.access.get(problem), AxisValue("chunk:9"));
  EXPECT_EQ(problem.mask, MaskSpec::full());
  mask.access.set(problem, "window:3");
  EXPECT_EQ(mask.access.get(problem), AxisValue("window:3"));
  EXPECT_FALSE(problem.pattern_spec);
}

TEST(MaskAxis, RefusesWhatIsNoMask) {
  EXPECT_EQ(error_of("mask", "full,windows:3"),
            "--mask: 'windows:3' is no mask, did you mean 'window:3'?; allowed: " +
                std::string(pattern_forms()));
  EXPECT_EQ(error_of("mask", "sink:4+windows:3").substr(0, 51),
            "--mask: 'windows:3' of 'sink:4+windows:3' is no mas");
  EXPECT_EQ(error_of("mask", "window:0").substr(0, 40), "--mask: 'window:0' has a number below 1;");
  EXPECT_EQ(error_of("mask", "full,,causal").substr(0, 40),
            "--mask: 'full,,causal' has an empty item");
}

TEST(MaskAxis, HasAShorthandForTheCausalMask) {
  const AxisShorthand& causal = find_axis("mask").shorthand;
  EXPECT_EQ(causal.expand(causal.flag, "false"), "full");
  EXPECT_EQ(causal.expand(causal.flag, "true"), "causal");
  EXPECT_EQ(causal.expand(causal.flag, "both"), "full,causal");
  EXPECT_THROW(causal.expand(causal.flag, "maybe"), UsageError);
}

TEST(KeysAxis, EqualsItsTwinUnlessGiven) {
  const Axis& seqlen_k = find_axis("seqlen_k");
  CaseProblem problem;
  problem.seqlen_q = 5;
  EXPECT_FALSE(equals_twin(seqlen_k, problem));
  seqlen_k.derive(problem, {});
  EXPECT_EQ(problem.seqlen_k, 5);
  EXPECT_TRUE(equals_twin(seqlen_k, problem));
  EXPECT_FALSE(equals_twin(find_axis("mask"), problem));
}

TEST(FindAxis, RefusesAnotherName) { EXPECT_THROW(find_axis("colour"), std::invalid_argument); }

TEST(FlagsOfProblem, NameEveryAxis) {
  CaseProblem problem;
  problem.mask = MaskSpec::window(3);
  problem.dropout_p = 0.1f;
  const std::string flags = flags_of_problem(problem, false) + " ";
  for (const Axis* axis : problem_axes()) {
    if (is_none(axis->access.get(problem))) continue;
    EXPECT_NE(flags.find(std::string(axis->flag) + " "), std::string::npos) << flags;
  }
  EXPECT_NE(flags.find("--seqlen 1 --seqlen-k 1 --mask window:3 --dropout 0.1 "), std::string::npos)
      << flags;
}

TEST(FlagsOfProblem, LeaveOutWhatLengthsSay) {
  CaseProblem problem;
  problem.lengths_spec = "uniform:1:2048";
  EXPECT_NE(flags_of_problem(problem, false).find("--lengths uniform:1:2048 --mask"),
            std::string::npos);
  EXPECT_NE(flags_of_problem(problem, false).find("--batch 1 "), std::string::npos);
  problem.lengths_spec = "file:my lengths";
  const std::string flags = flags_of_problem(problem, false);
  EXPECT_NE(flags.find("--lengths 'file:my lengths' --mask"), std::string::npos) << flags;
  EXPECT_EQ(flags.find("--batch"), std::string::npos) << flags;
}

TEST(FlagsOfProblem, LeaveOutWhatTensorsSay) {
  EXPECT_TRUE(flags_of_problem({}, true).starts_with("--pass fwd --mask full --dropout 0"));
}

TEST(AxisValue, IsWrittenAsItsFlagTakesIt) {
  EXPECT_EQ(text_of_value(512), "512");
  EXPECT_EQ(text_of_value(0.1f), "0.1");
  EXPECT_EQ(text_of_value(0.0f), "0");
  EXPECT_EQ(text_of_value(true), "true");
  EXPECT_EQ(text_of_value(std::string("window:256")), "window:256");
}

TEST(AxisValue, HasNoTextWhenNone) {
  EXPECT_TRUE(is_none({}));
  EXPECT_FALSE(is_none(0));
  EXPECT_EQ(text_of_value({}), "");
}

}  // namespace
}  // namespace sparkbench
