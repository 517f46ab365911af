#include "harness/timing/timing_record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/devices/test_devices.h"

namespace sparkbench {
namespace {

/// 100 TFLOP/s and 50 GB/s, with the samples of a kernel with little noise.
CaseRecord case_of_one_ms() {
  CaseRecord record;
  record.flops = 100'000'000'000;
  record.bytes = 50'000'000;
  return record;
}

Timing quiet_timing() { return {{0.999, 1.0, 1.001}, {1530, 1530, 1515}, "noise", true, 0.002}; }

std::vector<std::string> codes_of(const CaseRecord& record) {
  std::vector<std::string> codes;
  for (const Warning& warning : record.warnings) codes.push_back(warning.code);
  return codes;
}

using Codes = std::vector<std::string>;

TEST(RecordTiming, KeepsEverySampleAndDerivesTheRates) {
  CaseRecord record = case_of_one_ms();
  record_timing(quiet_timing(), v100(), record);
  EXPECT_EQ(record.time_ms.value().samples, quiet_timing().samples_ms);
  EXPECT_EQ(record.time_ms->median, 1.0);
  EXPECT_EQ(record.clock_mhz.value().samples, quiet_timing().clocks_mhz);
  EXPECT_EQ(record.clock_mhz->median, 1530);
  EXPECT_EQ(record.sampling.value().count, 3);
  EXPECT_EQ(record.sampling->stop_reason, "noise");
  EXPECT_EQ(record.sampling->flagged, 0);
  EXPECT_TRUE(record.sampling->held);
  EXPECT_NEAR(record.sampling->median_error, 1.2533141 * 0.001 / 1.3489795 / std::sqrt(3), 1e-9);
  EXPECT_NEAR(record.noise.value(), 0.001, 1e-9);
  EXPECT_DOUBLE_EQ(record.tflops.value(), 100);
  EXPECT_DOUBLE_EQ(record.peak_fraction.value(), 0.8);
  EXPECT_DOUBLE_EQ(record.gbps.value(), 50);
  EXPECT_EQ(codes_of(record), Codes());
}

TEST(RecordTiming, FlagsThrottledSamplesAndKeepsThem) {
  Timing timing = quiet_timing();
  timing.clocks_mhz = {1530, 1200, std::nullopt};
  CaseRecord record = case_of_one_ms();
  record_timing(timing, v100(), record);
  EXPECT_EQ(record.sampling.value().flagged, 1);
  EXPECT_EQ(record.time_ms.value().samples.size(), 3u);
  EXPECT_EQ(codes_of(record), Codes({"W-THROTTLED"}));
  EXPECT_DOUBLE_EQ(record.warnings[0].value.value(), 1.0 / 3);
  EXPECT_TRUE(record.valid);
}

TEST(RecordTiming, WarnsOfWhatMakesATimeDoubtful) {
  Timing timing = quiet_timing();
  timing.stop_reason = "time";
  timing.is_held = false;
  timing.clocks_mhz = {std::nullopt, std::nullopt, std::nullopt};
  CaseRecord record = case_of_one_ms();
  record_timing(timing, v100(), record);
  EXPECT_EQ(codes_of(record), Codes({"W-NOISY", "W-NOT-HELD", "W-CLOCK-UNKNOWN"}));
  EXPECT_FALSE(record.clock_mhz.has_value());
  EXPECT_TRUE(record.valid);
}

TEST(RecordTiming, MakesACaseIncorrectWhoseTimedLaunchesLeaveOtherOutputs) {
  Timing timing = quiet_timing();
  timing.checked = 3;
  CaseRecord right = case_of_one_ms();
  record_timing(timing, v100(), right);
  EXPECT_EQ(right.sampling->checked, 3);
  EXPECT_EQ(right.status, Status::kOk);
  timing.wrong = 2;
  timing.first_wrong = "17 elements of dq";
  CaseRecord wrong = case_of_one_ms();
  record_timing(timing, v100(), wrong);
  EXPECT_EQ(wrong.status, Status::kIncorrect);
  EXPECT_EQ(wrong.reason.value().code, "E-TIMED-OUTPUT");
  EXPECT_EQ(wrong.reason->message,
            "2 of 3 timed launches left other results than the launch that was verified; in the "
            "first of them 17 elements of dq differ");
  EXPECT_TRUE(wrong.time_ms.has_value());
  EXPECT_FALSE(wrong.tflops.has_value());
}

TEST(RecordTiming, GivesAnIncorrectCaseNoHeadline) {
  CaseRecord record = case_of_one_ms();
  record.status = Status::kIncorrect;
  record_timing(quiet_timing(), v100(), record);
  EXPECT_TRUE(record.time_ms.has_value());
  EXPECT_FALSE(record.tflops.has_value());
  EXPECT_FALSE(record.peak_fraction.has_value());
}

TEST(RecordTiming, GivesAnImpossibleTimeNoRates) {
  CaseRecord record = case_of_one_ms();
  record.flops *= 2;
  record_timing(quiet_timing(), v100(), record);
  EXPECT_FALSE(record.valid);
  EXPECT_EQ(codes_of(record), Codes({"W-ABOVE-PEAK-RATE"}));
  EXPECT_FALSE(record.tflops.has_value());
  EXPECT_FALSE(record.gbps.has_value());
  EXPECT_TRUE(record.time_ms.has_value());
}

TEST(RecordTiming, DoesNotJudgeATimeThatSaysNothing) {
  CaseRecord record = case_of_one_ms();
  record.valid = false;
  record.flops *= 2;
  record_timing(quiet_timing(), v100(), record);
  EXPECT_EQ(codes_of(record), Codes());
  EXPECT_FALSE(record.tflops.has_value());
}

}  // namespace
}  // namespace sparkbench
