#include "harness/model/sm/chip_assumption.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(ChipAssumption, EachHoldsWhatTheOnesBeforeItHold) {
  const SmConstants plain = with_assumption({}, ChipAssumption::kForwarded);
  EXPECT_EQ(plain.hmma_no_reuse, 0);
  EXPECT_EQ(plain.scheduler_fetch_bytes, 0);
  const SmConstants no_reuse = with_assumption({}, ChipAssumption::kNoReuse);
  EXPECT_EQ(no_reuse.hmma_no_reuse, 1);
  EXPECT_EQ(no_reuse.scheduler_fetch_bytes, 0);
  const SmConstants supply_16 = with_assumption({}, ChipAssumption::kSupply16);
  EXPECT_EQ(supply_16.hmma_no_reuse, 1);
  EXPECT_EQ(supply_16.scheduler_fetch_bytes, 16);
  EXPECT_EQ(supply_16.l0_miss_latency, 20);
  const SmConstants supply_8 = with_assumption({}, ChipAssumption::kSupply8);
  EXPECT_EQ(supply_8.hmma_no_reuse, 1);
  EXPECT_EQ(supply_8.scheduler_fetch_bytes, 8);
}

TEST(ChipAssumption, IsFoundByItsName) {
  for (const std::string& name : chip_assumption_names()) {
    const auto assumption = chip_assumption_named(name);
    ASSERT_TRUE(assumption) << name;
    EXPECT_EQ(name_of(*assumption), name);
  }
  EXPECT_EQ(chip_assumption_names().size(), static_cast<std::size_t>(kChipAssumptions));
  EXPECT_FALSE(chip_assumption_named("supply-4"));
}

}  // namespace
}  // namespace sparkbench
