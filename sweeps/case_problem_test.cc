#include "sweeps/case_problem.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sparkbench {
namespace {

TEST(CaseProblem, IsTheProblemOfAPass) {
  Problem problem;
  problem.seqlen_q = 5;
  problem.mask = MaskSpec::window(3);
  const CaseProblem posed(Pass::kBackward, problem);
  EXPECT_EQ(posed.pass, Pass::kBackward);
  EXPECT_EQ(posed.seqlen_q, 5);
  EXPECT_EQ(posed.mask, MaskSpec::window(3));
  EXPECT_EQ(posed.input, "normal");
  EXPECT_EQ(posed.input_scale, 1);
}

TEST(CaseProblem, AppliesDropoutIn256thsUnlessCandidatesOwn) {
  CaseProblem posed;
  posed.dropout_p = 0.1f;
  EXPECT_EQ(posed.applied_dropout_p(), 26.0f / 256.0f);
  posed.own_dropout_p = 0.1f;
  EXPECT_EQ(posed.applied_dropout_p(), 0.1f);
}

TEST(PassNames, AreReadBack) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kForwardBackward}) {
    Pass parsed{};
    parse_name(name_of(pass), parsed);
    EXPECT_EQ(parsed, pass);
  }
  Pass pass{};
  EXPECT_THROW(parse_name("forward", pass), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
