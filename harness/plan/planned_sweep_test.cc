#include "harness/plan/planned_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// Seven problems with three kernels each.
std::vector<CaseRecord> cases() {
  std::vector<CaseRecord> all;
  for (int seqlen = 1; seqlen <= 7; ++seqlen) {
    for (int kernel = 0; kernel < 3; ++kernel) {
      all.emplace_back();
      all.back().problem.seqlen_q = seqlen;
    }
  }
  return all;
}

TEST(Shard, IsAllWithoutOne) { EXPECT_EQ(positions_of_shard(cases(), "").size(), 21u); }

TEST(Shard, KeepsTheCasesOfAProblemTogether) {
  EXPECT_EQ(positions_of_shard(cases(), "2/3"), std::vector<std::size_t>({3, 4, 5, 12, 13, 14}));
}

TEST(Shard, PartsAreDisjointAndTogetherEverything) {
  for (const int count : {1, 2, 3, 7, 10}) {
    std::vector<std::size_t> together;
    for (int index = 1; index <= count; ++index) {
      const auto part =
          positions_of_shard(cases(), std::to_string(index) + "/" + std::to_string(count));
      together.insert(together.end(), part.begin(), part.end());
    }
    std::sort(together.begin(), together.end());
    ASSERT_EQ(together.size(), 21u);
    for (std::size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i], i);
  }
}

TEST(Shard, RefusesWhatIsNoPart) {
  for (const char* const wrong : {"0/3", "4/3", "1", "1/0", "/", "a/b", "-1/2", "1/2/3"}) {
    EXPECT_THROW(positions_of_shard(cases(), wrong), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace sparkbench
