#include "harness/run/problems/telling_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace sparkbench {
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
