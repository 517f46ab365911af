#include "harness/cases/outcome_record.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

DeviceInfo emulated_chip(int sm) {
  DeviceInfo device;
  device.kind = DeviceKind::kEmulated;
  device.sm = sm;
  return device;
}

RunOutcome emulated_outcome() {
  RunOutcome outcome;
  outcome.emulation.emplace();
  outcome.emulation->counters.mma_m8n8k4 = 1000;
  outcome.emulation->counters.mma_fp16acc = 400;
  outcome.emulation->counters.global_sectors_added = 7;
  outcome.emulation->grid_counters.mma_m8n8k4 = 5000;
  return outcome;
}

CaseRecord record_of(const RunOutcome& outcome, const DeviceInfo& device) {
  CaseRecord record;
  record.flops = 2048 * 5000;
  record.bytes = 640;
  record_outcome(outcome, device, record);
  return record;
}

TEST(RecordOutcome, KeepsTheCountsOfWhatWasEmulated) {
  const CaseRecord record = record_of(emulated_outcome(), emulated_chip(70));
  EXPECT_EQ(record.emulation.value().mma, 1000u);
  EXPECT_EQ(record.emulation->mma_fp16acc, 400u);
  EXPECT_EQ(record.emulation->global_sectors_added, 7u);
}

TEST(RecordOutcome, BoundsAV100ByTheWholeGridsCounts) {
  RunOutcome outcome = emulated_outcome();
  const CaseRecord record = record_of(outcome, emulated_chip(70));
  EXPECT_NEAR(record.bound.value().tflops, 125.3, 0.1);
  EXPECT_FALSE(record.bound->scaled_from_sample);
  EXPECT_TRUE(record.warnings.empty());
  outcome.emulation->is_sample = true;
  EXPECT_TRUE(record_of(outcome, emulated_chip(70)).bound.value().scaled_from_sample);
}

TEST(RecordOutcome, SaysWhyOtherChipsHaveNoBound) {
  for (const int sm : {75, 80, 90}) {
    const CaseRecord record = record_of(emulated_outcome(), emulated_chip(sm));
    EXPECT_FALSE(record.bound.has_value());
    ASSERT_EQ(record.warnings.size(), 1u);
    EXPECT_EQ(record.warnings[0].code, "W-NO-BOUND");
  }
}

TEST(RecordOutcome, NeitherBoundsNorWarnsWhereNothingWasEmulated) {
  const CaseRecord record = record_of({}, emulated_chip(70));
  EXPECT_FALSE(record.bound.has_value());
  EXPECT_FALSE(record.emulation.has_value());
  EXPECT_TRUE(record.warnings.empty());
}

}  // namespace
}  // namespace sparkbench
