#include "harness/model/sm/machine_constants.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/testing/messages.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::string refusal_of(const std::string& assignment) {
  SmConstants constants;
  return message_of<UsageError>([&] { set_constant(constants, "--set", assignment); });
}

TEST(MachineConstants, AreEachNamedOnceAndAllowed) {
  std::set<std::string_view> names;
  for (const ConstantInfo& info : constant_infos()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    const double value = value_of(SmConstants{}, info);
    EXPECT_TRUE(value >= info.least && value <= info.most) << info.name;
    const auto doubt = info.doubt.value_or(std::pair{0.0, 1.0});
    EXPECT_LT(doubt.first, doubt.second) << info.name;
  }
  const std::size_t bytes = sizeof(int) * (names.size() - 1) + sizeof(double);
  EXPECT_LT(sizeof(SmConstants) - bytes, sizeof(double)) << "a constant has no name";
}

TEST(MachineConstants, AreSetByName) {
  SmConstants constants;
  set_constant(constants, "--set", "hmma_no_reuse=1");
  set_constant(constants, "--set", "l2_bytes=14.5");
  EXPECT_EQ(constants.hmma_no_reuse, 1);
  EXPECT_EQ(constants.l2_bytes, 14.5);
}

TEST(MachineConstants, RefuseWhatTheyCannotBe) {
  EXPECT_EQ(refusal_of("ldg_latency"),
            "--set: 'ldg_latency' is no NAME=VALUE; allowed: ldg_latency=300");
  EXPECT_TRUE(refusal_of("ldg_latancy=300")
                  .starts_with("--set: unknown 'ldg_latancy', did you mean 'ldg_latency'?"));
  EXPECT_EQ(refusal_of("scheduler=3"),
            "--set: '3' is no value for scheduler; allowed: a whole number 0 to 2");
  for (const std::string value : {"", "x", "2x", "1.5", "0", "-1", "nan", "inf"}) {
    EXPECT_NE(refusal_of("mio_queue=" + value), "") << value;
  }
  EXPECT_NE(refusal_of("l2_bytes=0"), "");
}

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

}  // namespace
}  // namespace sparkbench
