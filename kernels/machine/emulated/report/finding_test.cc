#include "kernels/machine/emulated/report/finding.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

constexpr auto kHere = CallSite::current();
constexpr auto kThere = CallSite::current();

FindingDetail no_detail() { return {}; }

TEST(FindingLog, KeepsAKindsFirstThreadAtALine) {
  FindingLog log("forward");
  log.begin_block({1, 2, 3}, 9);
  log.add(FindingKind::kSharedRace, kHere, 40, [] { return FindingDetail{7, "shared+0x4", "m"}; });
  log.add(FindingKind::kSharedRace, kHere, 8, [] { return FindingDetail{5, "shared+0x8", "n"}; });
  log.add(FindingKind::kSharedRace, kHere, 12, no_detail);
  EXPECT_EQ(log.total(), 3u);
  const std::vector<Finding> findings = log.first(20);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kernel, "forward");
  EXPECT_EQ(findings[0].block, (std::array<int, 3>{1, 2, 3}));
  EXPECT_EQ(findings[0].thread, 8);
  EXPECT_EQ(findings[0].other_thread, 5);
  EXPECT_EQ(findings[0].address, "shared+0x8");
  EXPECT_EQ(findings[0].line, static_cast<int>(kHere.line()));
  EXPECT_EQ(findings[0].message, "n");
}

TEST(FindingLog, TellsKindsAndLinesApart) {
  FindingLog log("forward");
  log.add(FindingKind::kSharedRace, kHere, 0, no_detail);
  log.add(FindingKind::kSharedRace, kThere, 0, no_detail);
  log.add(FindingKind::kOutOfBounds, kHere, 0, no_detail);
  EXPECT_EQ(log.first(20).size(), 3u);
  EXPECT_EQ(log.first(2).size(), 2u);
}

TEST(FindingLog, MergesToTheFirstBlockInWhicheverOrder) {
  const auto merged_thread = [](std::uint64_t block_of_mine, std::uint64_t block_of_theirs) {
    FindingLog mine("forward");
    mine.begin_block({}, block_of_mine);
    mine.add(FindingKind::kGlobalRace, kHere, 1, no_detail);
    FindingLog theirs("forward");
    theirs.begin_block({}, block_of_theirs);
    theirs.add(FindingKind::kGlobalRace, kHere, 2, no_detail);
    mine.merge(theirs);
    EXPECT_EQ(mine.total(), 2u);
    return mine.first(20).front().thread;
  };
  EXPECT_EQ(merged_thread(4, 5), 1);
  EXPECT_EQ(merged_thread(5, 4), 2);
}

}  // namespace
}  // namespace sparkbench
