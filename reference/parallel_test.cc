#include "reference/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

namespace sparkbench {
namespace {

TEST(ParallelFor, CallsEveryIndexExactlyOnce) {
  std::vector<std::atomic<int>> calls(1000);
  parallel_for(calls.size(), [&](std::size_t i) { ++calls[i]; });
  EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 1; }));
}

TEST(ParallelFor, DoesNothingForNoWork) {
  parallel_for(0, [](std::size_t) { FAIL() << "called"; });
}

TEST(ParallelFor, RethrowsWhatACallThrew) {
  const auto body = [](std::size_t i) {
    if (i == 7) throw std::runtime_error("seven");
  };
  EXPECT_THROW(parallel_for(100, body), std::runtime_error);
}

}  // namespace
}  // namespace sparkbench
