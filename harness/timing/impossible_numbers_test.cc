#include "harness/timing/impossible_numbers.h"

#include <gtest/gtest.h>

#include <limits>

#include "harness/devices/test_devices.h"

namespace sparkbench {
namespace {

CaseRecord record_of(double ms, double tflops, double gbps) {
  CaseRecord record;
  record.time_ms = TimeMs{.median = ms};
  record.flops = static_cast<std::uint64_t>(tflops * ms * 1e9);
  record.bytes = static_cast<std::uint64_t>(gbps * ms * 1e6);
  return record;
}

/// The codes of the warnings; checks that a record is invalid if and only if it has one.
std::vector<std::string> codes_of(CaseRecord record, const DeviceInfo& device,
                                  std::optional<double> least_ms = 0.002) {
  flag_impossible(device, least_ms, record);
  EXPECT_EQ(record.valid, record.warnings.empty());
  std::vector<std::string> codes;
  for (const Warning& warning : record.warnings) {
    EXPECT_TRUE(warning.value.has_value());
    codes.push_back(warning.code);
  }
  return codes;
}

using Codes = std::vector<std::string>;

TEST(ImpossibleNumbers, ArePastTheTensorCoresAtHighestClock) {
  EXPECT_EQ(codes_of(record_of(1.0, 125.0, 10), v100()), Codes());
  EXPECT_EQ(codes_of(record_of(1.0, 126.0, 10), v100()), Codes({"W-ABOVE-PEAK-RATE"}));
}

TEST(ImpossibleNumbers, AllowForACardThatClocksHigher) {
  CaseRecord record = record_of(1.0, 126.0, 10);
  record.clock_mhz = ClockMhz{1590, 1590, 1590, {}};
  EXPECT_EQ(codes_of(record, v100()), Codes());
}

TEST(ImpossibleNumbers, ArePastTheMemorysRateBeyondTheCache) {
  EXPECT_EQ(codes_of(record_of(1.0, 10, 912), v100()), Codes());
  EXPECT_EQ(codes_of(record_of(1.0, 10, 913), v100()), Codes({"W-ABOVE-PEAK-BANDWIDTH"}));
  EXPECT_EQ(codes_of(record_of(0.005, 1, 2000), v100()), Codes());
}

TEST(ImpossibleNumbers, AreNoLongerThanAnEmptyKernel) {
  EXPECT_EQ(codes_of(record_of(0.002, 1, 1), v100()), Codes({"W-BELOW-EMPTY-KERNEL"}));
  EXPECT_EQ(codes_of(record_of(0.0021, 1, 1), v100()), Codes());
}

TEST(ImpossibleNumbers, AreTimesOfZeroAndOfNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double ms : {0.0, nan}) {
    CaseRecord record = record_of(1.0, 10, 900);
    record.time_ms->median = ms;
    EXPECT_EQ(codes_of(record, v100()),
              Codes({"W-BELOW-EMPTY-KERNEL", "W-ABOVE-PEAK-RATE", "W-ABOVE-PEAK-BANDWIDTH"}));
  }
}

TEST(ImpossibleNumbers, AreNotLookedForWhereNothingIsKnown) {
  EXPECT_EQ(codes_of(record_of(1e-9, 1e9, 1e9), {}, std::nullopt), Codes());
}

}  // namespace
}  // namespace sparkbench
