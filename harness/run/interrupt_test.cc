#include "harness/run/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

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

TEST(InterruptGuard, TakesASignalThatIsSentTwiceForOne) {
  const InterruptGuard guard;
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  EXPECT_TRUE(guard.is_interrupted());
}

TEST(InterruptGuardDeathTest, DiesOfALaterSignal) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::this_thread::sleep_for(
            std::chrono::duration<double>(1.2 * InterruptGuard::kSameSignalSeconds));
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
  {
    const InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_FALSE(guard.is_interrupted());
  }
  std::signal(SIGHUP, SIG_DFL);
}

}  // namespace
}  // namespace sparkbench
