#include "kernels/machine/emulated/memory/in_flight.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

std::vector<int> ended(InFlight<int>& items, std::size_t pending) {
  std::vector<int> seen;
  items.end_groups(pending, [&](int item) { seen.push_back(item); });
  return seen;
}

TEST(InFlight, EndsGroupsInOrderButTheLast) {
  InFlight<int> items;
  items.start(1);
  items.start(2);
  items.commit();
  items.start(3);
  items.commit();
  items.start(4);
  EXPECT_EQ(ended(items, 2), std::vector<int>());
  EXPECT_EQ(ended(items, 1), (std::vector<int>{1, 2}));
  EXPECT_EQ(ended(items, 0), std::vector<int>{3});
  EXPECT_EQ(ended(items, 0), std::vector<int>());
  items.commit();
  EXPECT_EQ(ended(items, 0), std::vector<int>{4});
}

TEST(InFlight, CountsEmptyGroups) {
  InFlight<int> items;
  items.start(1);
  items.commit();
  items.commit();
  EXPECT_EQ(ended(items, 1), std::vector<int>{1});
}

TEST(InFlight, ForgetsWhatNothingWaitsFor) {
  InFlight<int> items;
  items.start(1);
  items.commit();
  items.forget();
  items.commit();
  EXPECT_EQ(ended(items, 0), std::vector<int>());
}

}  // namespace
}  // namespace sparkbench
