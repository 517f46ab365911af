#include "kernels/problem/head_groups.h"

#include <gtest/gtest.h>

#include "kernels/problem/attention.h"

namespace sparkbench {
namespace {

/// The problem's own division is the definition.
void expect_key_heads(const Problem& problem) {
  const HeadGroups groups = make_head_groups(problem.heads, problem.key_heads());
  ASSERT_EQ(groups.size, problem.group_size());
  for (int head = 0; head < problem.heads; ++head) {
    ASSERT_EQ(groups.key_head(head), problem.key_head(head))
        << "head " << head << " of " << problem.heads << ", " << problem.key_heads();
  }
}

TEST(HeadGroups, DivideAnyHeadByAnyGroupSize) {
  for (int size = 1; size <= 65535; size += size < 300 ? 1 : 97) {
    const int heads_k = 65535 / size;
    expect_key_heads({.heads = heads_k * size, .heads_k = heads_k});
  }
}

TEST(HeadGroups, OfOneAreTheHeads) {
  const Problem problem{.heads = 12};
  EXPECT_EQ(problem.key_heads(), 12);
  EXPECT_EQ(problem.group_size(), 1);
  EXPECT_EQ(problem.k_elements(), 12u * 64);
  expect_key_heads(problem);
}

TEST(HeadGroups, ShareKeysBetweenNeighbours) {
  const Problem problem{.heads = 6, .heads_k = 2};
  EXPECT_EQ(problem.key_head(2), 0);
  EXPECT_EQ(problem.key_head(3), 1);
  EXPECT_EQ(problem.q_elements(), 6u * 64);
  EXPECT_EQ(problem.k_elements(), 2u * 64);
  EXPECT_EQ(problem.lse_elements(), 6u);
}

}  // namespace
}  // namespace sparkbench
