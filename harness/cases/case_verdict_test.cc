#include "harness/cases/case_verdict.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

class VendorKernel : public Contender {
 public:
  VendorKernel() : Contender({"vendor", "", ContenderKind::kVendorKernel, std::nullopt}) {}
  Support supports(const Problem& /*problem*/, Pass /*pass*/) const override { return {}; }
  std::uint64_t workspace_bytes(const Problem& /*problem*/, Pass /*pass*/,
                                bool /*is_deterministic*/) const override {
    return 0;
  }
  const ArithmeticProfile& arithmetic() const override { return arithmetic_profile("hopper"); }
};

/// Of a vendor's kernel whose output is the exact one, of `mask`, under a tolerance.
std::string verdict(const MaskSpec& mask, double floor) {
  const VendorKernel contender;
  const Problem problem{1, 2, 64, 64, 64, mask};
  ProblemData data(problem, {}, {{}, all_rows(problem)});
  const RoundedForward exact = rounded_forward(problem, data.inputs(), data.plan().rows);
  RunOutcome outcome;
  outcome.rows = gather_rows(problem, exact.o, exact.lse, data.plan().rows);
  CaseRecord record;
  return judge_forward({contender, {.ratio = 2.0, .floor = floor}}, data, outcome, record);
}

TEST(JudgeForward, TakesTheWindowThatWasAsked) {
  EXPECT_EQ(verdict(MaskSpec::window(5), 0x1p-11), "");
  EXPECT_EQ(verdict(MaskSpec::full(), 0x1p-11), "");
}

TEST(JudgeForward, RefusesAWindowInDoubt) {
  EXPECT_EQ(verdict(MaskSpec::window(5), 100.0),
            "the output agrees with window:5 and with window:4: the check cannot tell which it "
            "has");
  EXPECT_EQ(verdict(MaskSpec::full(), 100.0), "");
}

}  // namespace
}  // namespace sparkbench
