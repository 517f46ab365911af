#include "results/study/case_diff.h"

#include <gtest/gtest.h>

#include <limits>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

using Compare = void (*)(const CaseRecord&, const CaseRecord&, CaseDiff&);

/// The only finding's reason; "" if there is none.
std::string found(Compare compare, const CaseRecord& first, const CaseRecord& second) {
  CaseDiff diff;
  compare(first, second, diff);
  EXPECT_LE(diff.findings.size(), 1u);
  return diff.findings.empty() ? "" : diff.findings[0].why;
}

TEST(OutputDiff, FindsErrorsThatHaveGrown) {
  const CaseRecord first = sample_timed_case();
  CaseRecord second = first;
  second.accuracy->rel_l2 *= 1.04;
  EXPECT_EQ(found(compare_errors, first, second), "");
  second.accuracy->rel_l2 = 1.2 * first.accuracy->rel_l2;
  EXPECT_EQ(found(compare_errors, first, second), "rel_l2 of o is 0.000525, was 0.000438");
  EXPECT_EQ(found(compare_errors, second, first), "");
  second = first;
  second.accuracy->lse_max_abs = 1e-3;
  EXPECT_EQ(found(compare_errors, first, second),
            "the largest error of lse of o is 0.00100, was 1.00e-06");
}

TEST(OutputDiff, AllowsEstimatesOfOtherRowsTheirDoubt) {
  const CaseRecord first = sample_timed_case();
  CaseRecord second = first;
  second.accuracy->checked_elements /= 2;
  second.accuracy->weighted = true;
  second.accuracy->rel_l2 *= 1.19;
  second.accuracy->lse_max_abs = 1e-3;
  second.accuracy->output_hash = second.accuracy->mask_hash = "0123456789abcdef";
  EXPECT_EQ(found(compare_errors, first, second), "");
  EXPECT_EQ(found(compare_bits, first, second), "");
  second.accuracy->rel_l2 = 1.25 * first.accuracy->rel_l2;
  EXPECT_EQ(found(compare_errors, first, second), "rel_l2 of o is 0.000547, was 0.000438");
}

/// Their samples had no weights, so the errors of causal masks were too small.
TEST(OutputDiff, ComparesNoErrorsOfAnEarlierVersionsSample) {
  CaseRecord first = sample_timed_case();
  CaseRecord second = first;
  first.accuracy->weighted.reset();
  first.accuracy->checked_elements /= 2;
  second.accuracy->rel_l2 *= 3;
  EXPECT_EQ(found(compare_errors, first, second), "");
  first.accuracy->checked_elements = second.accuracy->checked_elements;  // all rows
  EXPECT_NE(found(compare_errors, first, second), "");
}

TEST(OutputDiff, FindsElementsThatAreNoLongerFinite) {
  const CaseRecord first = sample_timed_case();
  CaseRecord second = first;
  second.accuracy->nonfinite = 3;
  second.accuracy->rel_l2 = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(found(compare_errors, first, second), "3 elements of o are not finite, 0 were");
  EXPECT_EQ(found(compare_errors, second, second), "");
}

TEST(OutputDiff, ComparesEveryGradient) {
  const CaseRecord first = sample_backward_run().cases.at(0);
  CaseRecord second = first;
  second.gradient_accuracy->dk.rel_l2 *= 2;
  CaseDiff diff;
  compare_errors(first, second, diff);
  EXPECT_TRUE(diff.has(Verdict::kWorse));
  EXPECT_DOUBLE_EQ(diff.error_ratio.value(), 2);
  second.gradient_accuracy->dv.output_hash = "0123456789abcdef";
  EXPECT_EQ(found(compare_bits, first, second), "dv");
}

TEST(OutputDiff, FindsMemoryThatHasGrown) {
  const CaseRecord first = sample_timed_case();
  CaseRecord second = first;
  *second.memory_bytes->peak += 4 << 20;  // the driver may or may not have allocated two more pages
  EXPECT_EQ(found(compare_memory, first, second), "");
  *second.memory_bytes->peak += 1 << 20;
  EXPECT_EQ(found(compare_memory, first, second), "peak 6.00 MiB, was 1.00 MiB");
  second = first;
  second.memory_bytes->workspace = 4096;
  EXPECT_EQ(found(compare_memory, first, second), "workspace 4.00 KiB, was 0 B");
}

TEST(OutputDiff, ComparesTheBitsOfRepeatableOutputs) {
  const CaseRecord first = sample_timed_case();
  CaseRecord second = first;
  CaseDiff diff;
  compare_bits(first, second, diff);
  EXPECT_TRUE(diff.has_same_bits.value());
  second.accuracy->output_hash = "0123456789abcdef";
  EXPECT_EQ(found(compare_bits, first, second), "o");
  second.accuracy->bitwise_repeatable = false;
  EXPECT_EQ(found(compare_bits, first, second), "");
  second.accuracy->mask_hash = "0123456789abcdef";
  EXPECT_EQ(found(compare_bits, first, second), "the dropout mask of o");
}

TEST(OutputDiff, KnowsNothingOfOtherElementsBits) {
  const CaseRecord first = sample_timed_case();
  CaseRecord second = first;
  second.accuracy->checked_elements += 1;
  CaseDiff diff;
  compare_bits(first, second, diff);
  EXPECT_FALSE(diff.has_same_bits.has_value());
}

}  // namespace
}  // namespace sparkbench
