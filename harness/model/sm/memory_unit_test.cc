#include "harness/model/sm/memory_unit.h"

#include <gtest/gtest.h>

#include "harness/model/sm/test_code.h"

namespace sparkbench {
namespace {

class MemoryUnitOf : public testing::Test {
 protected:
  void push(int scheduler, std::size_t instruction, double issue) {
    unit_.push(scheduler, {issue, &code_.instructions[instruction], 0, 0});
  }

  const TimedCode code_ = time_code(code_of({{"S01", "LDS.U.64 R0, [R2]"},
                                             {"S01", "LDG.E.128.SYS R0, [R2]"},
                                             {"S01", "S2R R0, SR_TID.X"}}),
                                    {});
  MemoryUnit unit_{code_.constants};
};

TEST_F(MemoryUnitOf, ServesALoadAfterItsWayThere) {
  push(0, 0, 10);
  EXPECT_EQ(unit_.next_service(), 12);
  EXPECT_FALSE(unit_.serve(11));
  const auto service = unit_.serve(12);
  ASSERT_TRUE(service);
  EXPECT_EQ(service->result, 10 + 19 + 1);  // two passes
  EXPECT_EQ(service->sources, 12 + 6 + 1);
  EXPECT_FALSE(unit_.serve(13));
  EXPECT_EQ(unit_.next_service(), std::numeric_limits<double>::infinity());
}

TEST_F(MemoryUnitOf, SharesTheDataPathInTurn) {
  push(0, 0, 0);
  push(0, 0, 1);
  push(1, 0, 1);
  EXPECT_EQ(unit_.serve(3)->request.issue, 0);
  EXPECT_FALSE(unit_.serve(4));                       // two passes of 128 bytes
  EXPECT_EQ(unit_.serve(5)->result, 5 - 2 + 19 + 1);  // of scheduler 1, whose turn it is
  EXPECT_EQ(unit_.next_service(), 7);
  EXPECT_EQ(unit_.serve(7)->request.issue, 1);
}

TEST_F(MemoryUnitOf, KeepsLanesBusyForFourCycles) {
  push(0, 2, 0);
  push(0, 2, 0);
  EXPECT_TRUE(unit_.serve(2));
  EXPECT_EQ(unit_.next_service(), 6);
}

TEST_F(MemoryUnitOf, WaitsForTheShareOfL2) {
  push(0, 1, 0);
  push(1, 1, 0);
  EXPECT_EQ(unit_.serve(2)->result, 2 - 2 + 200 + 4 - 1);
  EXPECT_EQ(unit_.serve(6)->result, 2 + 512 / 20.0 + 200) << "behind 512 bytes at 20 a cycle";
}

TEST_F(MemoryUnitOf, HasAQueueOfFive) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(unit_.is_full(2));
    push(2, 2, 0);
  }
  EXPECT_TRUE(unit_.is_full(2));
  EXPECT_FALSE(unit_.is_full(1));
  EXPECT_TRUE(unit_.serve(2));
  EXPECT_FALSE(unit_.is_full(2));
}

}  // namespace
}  // namespace sparkbench
