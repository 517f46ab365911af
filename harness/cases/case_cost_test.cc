#include "harness/cases/case_cost.h"

#include <gtest/gtest.h>

#include "harness/devices/emulated_device.h"

namespace sparkbench {
namespace {

CaseRecord case_of(std::uint64_t flops) {
  CaseRecord record;
  record.flops = flops;
  return record;
}

TEST(CaseCost, GrowsWithTheFlopsUpToWhatTheDeviceEmulates) {
  const auto device = open_emulated_device("emulated-v100");
  const CaseCost cost(*device, {}, {});
  EXPECT_FALSE(cost.is_corrected());
  EXPECT_LT(cost.seconds(case_of(1 << 20)), cost.seconds(case_of(1 << 28)));
  EXPECT_EQ(cost.seconds(case_of(std::uint64_t{1} << 40)),
            cost.seconds(case_of(std::uint64_t{1} << 41)));
}

TEST(CaseCost, IsNothingForASkippedCase) {
  const auto device = open_emulated_device("emulated-v100");
  CaseRecord skipped = case_of(1 << 28);
  skipped.status = Status::kSkipped;
  EXPECT_EQ(CaseCost(*device, {}, {}).seconds(skipped), 0.0);
}

TEST(CaseCost, IsCorrectedByWhatCasesTook) {
  const auto device = open_emulated_device("emulated-v100");
  CaseRecord measured = case_of(1 << 28);
  measured.elapsed_s = 3.0;
  CaseRecord failed = measured;
  failed.status = Status::kFailed;
  failed.elapsed_s = 600.0;
  const CaseCost cost(*device, {}, {measured, failed});
  EXPECT_TRUE(cost.is_corrected());
  EXPECT_NEAR(cost.seconds(measured), 3.0, 1e-9);
}

}  // namespace
}  // namespace sparkbench
