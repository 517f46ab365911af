#include "harness/timing/watchdog.h"

#include <gtest/gtest.h>

#include <atomic>

namespace sparkbench {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Watchdog, ExpiresOnceWhenTheTimeIsUp) {
  std::atomic<int> expired = 0;
  const Watchdog watchdog(milliseconds(1), [&expired] { ++expired; });
  while (expired == 0) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(expired, 1);
}

TEST(Watchdog, DoesNothingWhenGoneInTime) {
  std::atomic<int> expired = 0;
  {
    const Watchdog watchdog(hours(1), [&expired] { ++expired; });
  }
  EXPECT_EQ(expired, 0);
}

TEST(Watchdog, HasFinishedExpiringWhenItIsGone) {
  std::atomic<bool> has_begun = false, has_ended = false;
  {
    const Watchdog watchdog(milliseconds(0), [&] {
      has_begun = true;
      std::this_thread::sleep_for(milliseconds(20));
      has_ended = true;
    });
    while (!has_begun) std::this_thread::yield();
  }
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace sparkbench
