#include "harness/run/outcome_record.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sparkbench {
namespace {

RunOutcome emulated_outcome() {
  RunOutcome outcome;
  outcome.emulation.emplace();
  outcome.emulation->counters.mma_m8n8k4 = 1000;
  outcome.emulation->counters.mma_fp16acc = 400;
  outcome.emulation->counters.global_sectors_added = 7;
  return outcome;
}

CaseRecord record_of(const RunOutcome& outcome) {
  DeviceInfo device;
  device.kind = DeviceKind::kEmulated;
  CaseRecord record;
  record_outcome(outcome, device, record);
  return record;
}

TEST(RecordOutcome, KeepsTheCountsOfWhatWasEmulated) {
  const CaseRecord record = record_of(emulated_outcome());
  EXPECT_EQ(record.emulation.value().mma, 1000u);
  EXPECT_EQ(record.emulation->mma_fp16acc, 400u);
  EXPECT_EQ(record.emulation->global_sectors_added, 7u);
}

TEST(RecordOutcome, HasNoCountsWhereNothingWasEmulated) {
  EXPECT_FALSE(record_of({}).emulation.has_value());
}

ErrorMetrics of_rel_l2(double rel_l2) {
  ErrorMetrics metrics;
  metrics.rel_l2 = rel_l2;
  return metrics;
}

TEST(MakeAccuracy, ComparesWithBothUnfusedComputations) {
  const ErrorMetrics error = of_rel_l2(3.0), same = of_rel_l2(6.0), fp32 = of_rel_l2(1.0);
  const Accuracy accuracy = make_accuracy("o", error, {same, fp32}, {});
  EXPECT_EQ(accuracy.error_ratio, 0.5);
  EXPECT_EQ(accuracy.error_over_unfused, 3.0);
}

TEST(MakeAccuracy, HasNoRatioThatIsNotFinite) {
  const ErrorMetrics error = of_rel_l2(3.0), none = of_rel_l2(std::nan("")), zero = of_rel_l2(0.0);
  const Accuracy accuracy = make_accuracy("o", error, {none, zero}, {});
  EXPECT_FALSE(accuracy.error_ratio.has_value());
  EXPECT_FALSE(accuracy.error_over_unfused.has_value());
}

}  // namespace
}  // namespace sparkbench
