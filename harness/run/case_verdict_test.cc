#include "harness/run/case_verdict.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sparkbench {
namespace {

/// A candidate by name and kind, with made-up results.
class Computed : public Candidate {
 public:
  explicit Computed(CandidateKind kind, Accumulator accumulator = Accumulator::kFp32)
      : Candidate({"computed", "", kind, accumulator}) {}
  Support supports(const Problem& /*problem*/, Pass /*pass*/) const override { return {}; }
  std::uint64_t workspace_bytes(const Problem& /*problem*/, Pass /*pass*/,
                                bool /*is_deterministic*/) const override {
    return 0;
  }
  const ArithmeticProfile& arithmetic() const override { return arithmetic_profile("hopper"); }
};

constexpr Tolerance kTwice{.ratio = 2.0, .floor = 0x1p-11};

/// A small problem whose exact output can be made worse.
class JudgeForward : public testing::Test {
 protected:
  void make(const Problem& problem, const InputSpec& input) {
    data_.emplace(problem, input, CheckPlan{{}, all_rows(problem)});
    const RoundedForward exact = rounded_forward(problem, data_->inputs(), data_->plan().rows);
    outcome_.rows = gather_rows(problem, exact.o, exact.lse, data_->plan().rows);
  }

  /// Multiplies every element: an error of |factor - 1| relative to the output.
  void worsen(float factor) {
    for (Half& value : outcome_.rows.o) value = to_half(factor * to_float(value));
  }

  std::string verdict(const Candidate& candidate, Tolerance tolerance = kTwice) {
    record_ = {};
    record_.role = candidate.role();
    return judge_forward({candidate, tolerance}, *data_, outcome_, record_);
  }

  std::vector<std::string> warnings() const {
    std::vector<std::string> codes;
    for (const Warning& warning : record_.warnings) codes.push_back(warning.code);
    return codes;
  }

  double unfused_rel_l2(Accumulator accumulator) {
    return data_->unfused_error({arithmetic_profile("hopper"), accumulator}).rel_l2;
  }

  const Computed vendor_{CandidateKind::kVendorKernel};
  const Computed fp16_{CandidateKind::kKernel, Accumulator::kFp16};
  const Computed fp32_{CandidateKind::kKernel};
  const Computed reference_{CandidateKind::kReference};
  const Problem problem_{1, 2, 64, 64, 64, MaskSpec::full()};
  std::optional<ProblemData> data_;
  RunOutcome outcome_;
  CaseRecord record_;
};

using Codes = std::vector<std::string>;

TEST_F(JudgeForward, TakesTheWindowThatWasAsked) {
  for (const MaskSpec& mask : {MaskSpec::window(5), MaskSpec::full()}) {
    make({1, 2, 64, 64, 64, mask}, {});
    EXPECT_EQ(verdict(vendor_), "");
  }
}

TEST_F(JudgeForward, RefusesAWindowInDoubt) {
  make({1, 2, 64, 64, 64, MaskSpec::window(5)}, {});
  EXPECT_EQ(verdict(vendor_, {.ratio = 2.0, .floor = 100.0}),
            "the output agrees with window:5 and with window:4: the check cannot tell which it "
            "has");
  make(problem_, {});
  EXPECT_EQ(verdict(vendor_, {.ratio = 2.0, .floor = 100.0}), "");
}

TEST_F(JudgeForward, NeverRefusesAFiniteReference) {
  make(problem_, {});
  EXPECT_EQ(verdict(reference_), "");
  EXPECT_EQ(warnings(), Codes());
  worsen(1.5f);
  EXPECT_EQ(verdict(reference_), "");
  EXPECT_EQ(warnings(), Codes({"W-REFERENCE-INACCURATE", "W-ERROR-OVER-UNFUSED"}));
  outcome_.rows.o[3] = Half{0x7e00};  // NaN
  EXPECT_NE(verdict(reference_), "");
  EXPECT_TRUE(std::isnan(record_.accuracy.value().rel_l1));
  EXPECT_FALSE(record_.accuracy->lse_max_abs.has_value());
}

TEST_F(JudgeForward, WarnsOfAnErrorOverTheFp32Unfused) {
  make(problem_, {});
  const double fp32_error = unfused_rel_l2(Accumulator::kFp32);
  worsen(1.0f + 3 * static_cast<float>(fp32_error));
  EXPECT_EQ(verdict(fp16_), "");
  EXPECT_EQ(warnings(), Codes({"W-ERROR-OVER-UNFUSED"}));
  EXPECT_NEAR(record_.warnings[0].value.value(), 3.0, 0.3);
  EXPECT_EQ(record_.accuracy.value().error_over_unfused, record_.warnings[0].value);
  EXPECT_LT(record_.accuracy->error_ratio.value(), 2.5);
}

TEST_F(JudgeForward, WarnsOfNothingAsAccurateAsTheUnfused) {
  make(problem_, {});
  EXPECT_EQ(verdict(fp16_), "");
  EXPECT_EQ(warnings(), Codes());
  EXPECT_LT(record_.accuracy.value().error_over_unfused.value(), 1.0);
}

TEST_F(JudgeForward, MeasuresAKernelItselfWhereTheUnfusedOverflows) {
  make({1, 1, 64, 64, 64, MaskSpec::full()}, {.scale = 256.0f});  // scores above 65504
  ASSERT_GT(data_->unfused_error({arithmetic_profile("hopper")}).nonfinite, 0u);
  EXPECT_EQ(verdict(fp32_), "");
  EXPECT_EQ(warnings(), Codes({"W-UNFUSED-NOT-FINITE"}));
  EXPECT_FALSE(record_.accuracy.value().error_over_unfused.has_value());
  worsen(1.01f);
  EXPECT_EQ(verdict(fp32_).substr(0, 7), "rel_l2 ");
}

/// An error of 3 % is found wherever the unfused computation's own error is below half of that.
TEST_F(JudgeForward, FindsAFewPercentInFp16Sums) {
  for (const Distribution inputs : {Distribution::kNormal, Distribution::kOutliers}) {
    for (const float dropout_p : {0.0f, 0.5f, 0.99f}) {
      make({1, 2, 64, 200, 64, MaskSpec::full(), dropout_p}, {inputs});
      EXPECT_EQ(verdict(fp16_), "");
      worsen(1.03f);
      EXPECT_NE(verdict(fp16_), "") << static_cast<int>(inputs) << " " << dropout_p;
    }
  }
}

TEST_F(JudgeForward, FindsHalfAPercentInFp32Sums) {
  make(problem_, {});
  worsen(1.005f);
  EXPECT_NE(verdict(fp32_), "");
  EXPECT_EQ(warnings(), Codes());
}

}  // namespace
}  // namespace sparkbench
