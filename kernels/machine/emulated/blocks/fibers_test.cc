#include "kernels/machine/emulated/blocks/fibers.h"

#include <gtest/gtest.h>

#include <memory>

namespace sparkbench {
namespace {

TEST(Fibers, SwitchToEachOtherAndToTheirMaker) {
  std::vector<int> trace;
  Fibers* fibers = nullptr;
  Fibers three(3, [&](int i) {
    for (;;) {
      trace.push_back(i);
      fibers->switch_to(i == 0 ? fibers->maker() : i - 1);
    }
  });
  fibers = &three;
  three.switch_to(2);
  EXPECT_EQ(trace, (std::vector<int>{2, 1, 0}));
  three.switch_to(1);
  EXPECT_EQ(trace, (std::vector<int>{2, 1, 0, 1, 0}));
}

TEST(Fibers, UnwindTheirStacksWhenDestroyed) {
  const auto held = std::make_shared<int>(0);
  {
    Fibers* fibers = nullptr;
    Fibers two(2, [&](int) {
      std::shared_ptr<int> on_the_stack;
      on_the_stack = held;
      for (;;) fibers->switch_to(fibers->maker());
    });
    fibers = &two;
    two.switch_to(0);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace sparkbench
