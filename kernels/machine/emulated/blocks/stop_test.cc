#include "kernels/machine/emulated/blocks/stop.h"

#include <gtest/gtest.h>

#include <vector>

namespace sparkbench {
namespace {

TEST(Stop, DependsOnStatementAndArguments) {
  const auto here = CallSite::current();
  const auto there = CallSite::current();
  const Stop stop{Collective::kMmaM8n8k4, 2, here};
  EXPECT_EQ(stop, (Stop{Collective::kMmaM8n8k4, 2, here}));
  EXPECT_NE(stop, (Stop{Collective::kMmaM8n8k4, 4, here}));
  EXPECT_NE(stop, (Stop{Collective::kShuffle, 2, here}));
  EXPECT_NE(stop, (Stop{Collective::kMmaM8n8k4, 2, there}));
}

TEST(Stop, DescribesThreadsAsRanges) {
  const auto described = [](const std::vector<int>& threads) { return describe_threads(threads); };
  EXPECT_EQ(described({3}), "3");
  EXPECT_EQ(described({32, 33, 34}), "32-34");
  EXPECT_EQ(described({0, 2, 3, 9}), "0, 2-3, 9");
}

}  // namespace
}  // namespace sparkbench
