#include "reference/mask_check.h"

#include <gtest/gtest.h>

#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

Problem problem_of(const MaskSpec& mask, int seqlen_q = 300, int seqlen_k = 300) {
  return {1, 2, seqlen_q, seqlen_k, 64, mask};
}

using Masks = std::vector<MaskSpec>;

TEST(NearMisses, AreOneKeyOffInEachNumber) {
  EXPECT_EQ(near_misses(problem_of(MaskSpec::window(5))),
            (Masks{MaskSpec::window(4), MaskSpec::window(6)}));
  EXPECT_EQ(near_misses(problem_of(MaskSpec::band(5, 2))),
            (Masks{MaskSpec::band(4, 2), MaskSpec::band(6, 2), MaskSpec::band(5, 1),
                   MaskSpec::band(5, 3)}));
  EXPECT_EQ(near_misses(problem_of(MaskSpec::prefix(9))),
            (Masks{MaskSpec::prefix(8), MaskSpec::prefix(10)}));
  EXPECT_TRUE(near_misses(problem_of(MaskSpec::full())).empty());
  EXPECT_TRUE(near_misses(problem_of(MaskSpec::causal())).empty());
}

TEST(NearMisses, ChangeAPairOfTheProblem) {
  EXPECT_EQ(near_misses(problem_of(MaskSpec::window(1))), (Masks{MaskSpec::window(2)}));
  EXPECT_EQ(near_misses(problem_of(MaskSpec::window(300))), (Masks{MaskSpec::window(299)}));
  EXPECT_TRUE(near_misses(problem_of(MaskSpec::window(301))).empty());
  EXPECT_TRUE(near_misses(problem_of(MaskSpec::window(2147483647))).empty());
  EXPECT_EQ(near_misses(problem_of(MaskSpec::band(0, 0))),
            (Masks{MaskSpec::band(1, 0), MaskSpec::band(0, 1)}));
  EXPECT_TRUE(near_misses(problem_of(MaskSpec::band(2147483647, 2147483647))).empty());
}

/// The output of a kernel that applies `has` to a problem with its own mask.
struct Kernel {
  Problem asked;
  MaskSpec has;
  OwnedInputs inputs = make_inputs(asked, Distribution::kNormal, 4);
  std::vector<Half> d_o = make_gradient_input(asked, Distribution::kNormal, 4);

  Problem computed() const {
    Problem problem = asked;
    problem.mask = has;
    return problem;
  }
  BackwardInputs backward_inputs() const { return {inputs.q, inputs.k, inputs.v, d_o}; }

  /// `tolerance` is relative to the oracle's largest value.
  std::string why_forward(std::span<const QueryRow> rows, double tolerance) const {
    const RoundedForward whole = rounded_forward(computed(), inputs.view(), all_rows(asked));
    return why_mask_in_doubt(asked, inputs.view(), rows,
                             gather_rows(asked, whole.o, whole.lse, rows),
                             [&](const ErrorMetrics& error) {
                               return why_incorrect(error, {}, {.ratio = 0.0, .floor = tolerance});
                             });
  }
  std::string why_backward(const GradientRows& rows, double tolerance) const {
    const ExactGradients exact = exact_backward(computed(), backward_inputs(), rows);
    const auto rounded = [](const std::vector<double>& values) {
      std::vector<Half> halves;
      for (const double value : values) halves.push_back(to_half(static_cast<float>(value)));
      return halves;
    };
    return why_mask_in_doubt(asked, backward_inputs(), rows,
                             {rounded(exact.dq), rounded(exact.dk), rounded(exact.dv)},
                             [&](const GradientErrors& error) {
                               return why_incorrect(error, {}, {.ratio = 0.0, .floor = tolerance});
                             });
  }
};

constexpr double kTolerance = 0x1p-9;

TEST(WhyMaskInDoubt, IsEmptyForTheMaskThatWasAsked) {
  for (const MaskSpec& mask : {MaskSpec::causal(), MaskSpec::window(1), MaskSpec::window(2),
                               MaskSpec::window(299), MaskSpec::band(20, 5), MaskSpec::prefix(9)}) {
    const Kernel kernel{problem_of(mask), mask};
    EXPECT_EQ(kernel.why_forward(all_rows(kernel.asked), kTolerance), "") << name_of(mask);
    EXPECT_EQ(kernel.why_backward(all_gradient_rows(kernel.asked), kTolerance), "")
        << name_of(mask);
  }
}

TEST(WhyMaskInDoubt, NamesTheMaskThatAgreesToo) {
  // A kernel that mistakes the number of keys for the offset of the last one.
  const Kernel kernel{problem_of(MaskSpec::window(128)), MaskSpec::window(129)};
  const std::string want =
      "the output agrees with window:128 and with window:129: the check cannot tell which it has";
  EXPECT_EQ(kernel.why_forward(all_rows(kernel.asked), kTolerance), want);
  EXPECT_EQ(kernel.why_backward(all_gradient_rows(kernel.asked), kTolerance), want);
}

TEST(WhyMaskInDoubt, ComesFromAToleranceThatTellsNothing) {
  const Kernel kernel{problem_of(MaskSpec::window(128)), MaskSpec::window(128)};
  EXPECT_NE(kernel.why_forward(all_rows(kernel.asked), 100.0), "");
  EXPECT_NE(kernel.why_backward(all_gradient_rows(kernel.asked), 100.0), "");
}

TEST(WhyMaskInDoubt, ComesFromRowsThatDoNotTell) {
  // Query 5 sees all keys up to its own under each of the three masks.
  const Kernel kernel{problem_of(MaskSpec::window(128)), MaskSpec::window(128)};
  const std::string want = "no checked row tells window:128 from window:127";
  EXPECT_EQ(kernel.why_forward(std::vector<QueryRow>{{0, 0, 5}}, kTolerance), want);
  EXPECT_EQ(kernel.why_backward({{{0, 0, 5}}, {}}, kTolerance), want);
  EXPECT_EQ(kernel.why_backward({{{0, 0, 5}}, {{0, 0, 3}}}, kTolerance), "");
}

}  // namespace
}  // namespace sparkbench
