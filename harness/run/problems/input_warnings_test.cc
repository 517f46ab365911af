#include "harness/run/problems/input_warnings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace sparkbench {
namespace {

std::vector<Half> halves(const std::vector<float>& values) {
  std::vector<Half> result;
  for (const float value : values) result.push_back(to_half(value));
  return result;
}

TEST(SmallValues, AreSubnormalBelowTheLeastNormalNumber) {
  const SmallValues small =
      count_small_values("q", halves({0.0f, 0x1p-14f, -0x1p-15f, 0x1p-24f, 1.0f}), 7);
  EXPECT_EQ(small.elements, 5u);
  EXPECT_EQ(small.subnormal, 2u);
  EXPECT_EQ(small.vanished, 7u);
  EXPECT_FALSE(small.is_all_zero);
  EXPECT_TRUE(count_small_values("q", halves({0.0f, -0.0f}), 0).is_all_zero);
}

TEST(WarnOfSmallValues, SaysNothingOfNormalTensors) {
  EXPECT_TRUE(warn_of_small_values({{"q", 10, 0, 0, false}, {"d_o", 10, 0, 0, false}}).empty());
  EXPECT_TRUE(warn_of_small_values({{"k", 1000, 0, 1, false}}).empty());
  EXPECT_EQ(warn_of_small_values({{"k", 1000, 0, 2, false}}).size(), 1u);
  EXPECT_EQ(warn_of_small_values({{"k", 1000, 1, 0, false}}).size(), 1u);
}

TEST(WarnOfSmallValues, NamesEveryTensorAndWhatToDo) {
  const auto warnings = warn_of_small_values(
      {{"q", 10, 0, 10, false}, {"v", 10, 0, 4, false}, {"d_o", 100, 5, 60, false}});
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].code, "W-INPUT-UNDERFLOW");
  EXPECT_EQ(warnings[0].message,
            "too small for fp16, and became 0: 5 of 100 values of 'd_o'; scale the loss "
            "(torch.amp.GradScaler) before d_o is taken, and divide dq, dk and dv by the scale");
  EXPECT_EQ(warnings[0].value, 5.0);
  EXPECT_EQ(warnings[1].code, "W-INPUT-SUBNORMAL");
  EXPECT_EQ(warnings[1].message,
            "subnormal in fp16, below 6.1e-05, where digits are lost: all 10 values of 'q', 4 of "
            "10 values of 'v', 60 of 100 values of 'd_o'; multiply q by a power of two and divide "
            "k by it: the scores stay; multiply v by a power of two, and divide the output by it; "
            "scale the loss (torch.amp.GradScaler) before d_o is taken, and divide dq, dk and dv "
            "by the scale");
  EXPECT_EQ(warnings[1].value, 74.0);
}

TEST(WarnOfSmallValues, TellsOfATensorOfZeros) {
  const auto warnings = warn_of_small_values({{"v", 4, 0, 0, true}, {"d_o", 4, 0, 0, true}});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, "W-INPUT-ZERO");
  EXPECT_EQ(warnings[0].message,
            "every value of 'v' and 'd_o' is 0, and errors say little: did they vanish before they "
            "were saved?");
}

Problem with(int heads, int seqlen_q, int seqlen_k) {
  Problem problem;
  problem.heads = heads;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  return problem;
}

TEST(WarnOfTransposed, FindsLengthsBelowTheNumberOfHeads) {
  const auto warning = warn_of_transposed(with(512, 16, 16));
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(warning->code, "W-TRANSPOSED");
  EXPECT_EQ(warning->message,
            "seqlen 16 is less than heads 512: are the tensors [batch, heads, seqlen, head_dim]? "
            "Read is [batch, seqlen, heads, head_dim]; save x.transpose(1, 2)");
}

TEST(WarnOfTransposed, TakesOneQueryBesideManyKeys) {
  EXPECT_FALSE(warn_of_transposed(with(32, 1, 4096)).has_value());
  EXPECT_FALSE(warn_of_transposed(with(16, 16, 16)).has_value());
}

}  // namespace

namespace {

using Change = std::function<void(OwnTensors&)>;

/// The warning's text for normal inputs after a change; "" without a warning.
std::string said_of(const Change& change, const MaskSpec& mask = MaskSpec::full(), int seqlen = 48,
                    bool has_backward = false) {
  const Problem problem{1, 2, seqlen, seqlen, 32, mask};
  auto own = std::make_shared<OwnTensors>();
  own->shape = problem;
  own->inputs = make_inputs(problem, Distribution::kNormal, 7);
  own->d_o = make_gradient_input(problem, Distribution::kNormal, 7);
  change(*own);
  const InputSpec input{.own = own};
  ProblemData data(problem, input, {{}, all_rows(problem)});
  GradientData gradients(data, input, {{}, all_gradient_rows(problem), all_rows(problem)});
  const std::vector<Warning> warnings =
      warn_of_telling_nothing(data, has_backward ? &gradients : nullptr);
  EXPECT_LE(warnings.size(), 1u);
  if (warnings.empty()) return "";
  EXPECT_EQ(warnings[0].code, "W-INPUT-TELLS-NOTHING");
  return warnings[0].message;
}

void fill(std::vector<Half>& values, float value) {
  std::fill(values.begin(), values.end(), to_half(value));
}

/// Makes each head's rows equal to its first.
void make_rows_alike(std::vector<Half>& values) {
  for (std::size_t i = 64; i < values.size(); ++i) values[i] = values[i - 64];
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TellingInputs, AreNotDoubtedIfNormal) {
  const auto as_they_are = [](OwnTensors&) {};
  for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(5)}) {
    EXPECT_EQ(said_of(as_they_are, mask, 48, true), "");
  }
}

TEST(TellingInputs, AreDoubtedWithValuesAlike) {
  const auto alike = [](OwnTensors& own) { make_rows_alike(own.inputs.v); };
  EXPECT_TRUE(has(said_of(alike), "what equal scores give"));
  EXPECT_TRUE(has(said_of(alike, MaskSpec::causal()), "what equal scores give"));
  EXPECT_TRUE(has(said_of(alike, MaskSpec::full(), 48, true), "zeros would pass for dQ and dK"));
}

TEST(TellingInputs, AreDoubtedWithNoValues) {
  EXPECT_TRUE(
      has(said_of([](OwnTensors& own) { fill(own.inputs.v, 0); }), "what equal scores give"));
}

TEST(TellingInputs, AreDoubtedWithScoresAlike) {
  EXPECT_TRUE(
      has(said_of([](OwnTensors& own) { fill(own.inputs.q, 0); }), "what equal scores give"));
  EXPECT_TRUE(
      has(said_of([](OwnTensors& own) { fill(own.inputs.k, 0); }), "what equal scores give"));
  EXPECT_TRUE(has(said_of([](OwnTensors& own) { make_rows_alike(own.inputs.k); }),
                  "what equal scores give"));
}

TEST(TellingInputs, AreDoubtedWithOneWeightInEachRow) {
  const auto grow = [](OwnTensors& own) {
    for (Half& value : own.inputs.q) value = to_half(2000 * to_float(value));
  };
  EXPECT_TRUE(has(said_of(grow), "its largest score"));
}

TEST(TellingInputs, AreDoubtedWithOneVisibleKey) {
  const auto as_they_are = [](OwnTensors&) {};
  EXPECT_TRUE(has(said_of(as_they_are, MaskSpec::window(1)), "what equal scores give"));
  EXPECT_TRUE(has(said_of(as_they_are, MaskSpec::full(), 1), "what equal scores give"));
}

TEST(TellingInputs, AreDoubtedWithoutAnOutputGradient) {
  const std::string said =
      said_of([](OwnTensors& own) { fill(own.d_o, 0); }, MaskSpec::full(), 48, true);
  EXPECT_TRUE(has(said, "zeros would pass for dQ and dK and dV")) << said;
}

TEST(TellingInputs, MayDifferInOneKey) {
  EXPECT_EQ(said_of([](OwnTensors& own) {
              const std::vector<Half> last(own.inputs.v.end() - 64, own.inputs.v.end());
              make_rows_alike(own.inputs.v);
              std::copy(last.begin(), last.end(), own.inputs.v.end() - 64);
            }),
            "");
}

}  // namespace

}  // namespace sparkbench
