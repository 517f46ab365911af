#include "harness/run/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sparkbench {
namespace {

TEST(InterruptGuard, NotesASignalInsteadOfDying) {
  const InterruptGuard guard;
  EXPECT_FALSE(guard.is_interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(guard.is_interrupted());
}

TEST(InterruptGuard, StartsAnewEachTime) {
  {
    const InterruptGuard guard;
    std::raise(SIGTERM);
    EXPECT_TRUE(guard.is_interrupted());
  }
  const InterruptGuard guard;
  EXPECT_FALSE(guard.is_interrupted());
}

TEST(InterruptGuardDeathTest, DiesOfTheSecondSignal) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptGuard, NotesAClosedTerminalUnlessToldNotTo) {
  {
    const InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_TRUE(guard.is_interrupted());
  }
  std::signal(SIGHUP, SIG_IGN);
  const InterruptGuard guard;
  std::raise(SIGHUP);
  EXPECT_FALSE(guard.is_interrupted());
  std::signal(SIGHUP, SIG_DFL);
}

}  // namespace
}  // namespace sparkbench
