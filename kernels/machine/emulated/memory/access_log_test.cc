#include "kernels/machine/emulated/memory/access_log.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkbench {
namespace {

void load_shared(AccessLog& log, int lane, int address, CallSite site) {
  log.record({AccessKind::kLoadShared, 4, nullptr, lane, site},
             static_cast<std::uintptr_t>(address));
}

TEST(AccessLog, MakesOneInstructionOfAStatementsLanes) {
  const CallSite site = CallSite::current();
  AccessLog log;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    load_shared(log, lane, 8 * lane, site);
  }
  Counters counters;
  log.flush(counters);
  EXPECT_EQ(counters.shared_loads, 1u);
  EXPECT_EQ(counters.shared_wavefronts, 2u);
  EXPECT_EQ(counters.bank_conflicts, 1u);
}

TEST(AccessLog, TellsAStatementsOccurrencesInALoopApart) {
  const CallSite site = CallSite::current();
  AccessLog log;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    for (int i = 0; i < 3; ++i) load_shared(log, lane, 0, site);
  }
  Counters counters;
  log.flush(counters);
  EXPECT_EQ(counters.shared_loads, 3u);
  EXPECT_EQ(counters.bank_conflicts, 0u);
}

TEST(AccessLog, JoinsLanesThatTookDifferentBranchesBefore) {
  const CallSite even = CallSite::current();
  const CallSite odd = CallSite::current();
  const CallSite both = CallSite::current();
  AccessLog log;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    load_shared(log, lane, 0, lane % 2 == 0 ? even : odd);
    load_shared(log, lane, 0, both);
  }
  Counters counters;
  log.flush(counters);
  EXPECT_EQ(counters.shared_loads, 3u);
}

TEST(AccessLog, JoinsALaneThatSkippedAStatement) {
  const CallSite guarded = CallSite::current();
  const CallSite after = CallSite::current();
  AccessLog log;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    if (lane != 5) load_shared(log, lane, 0, guarded);
    load_shared(log, lane, 0, after);
  }
  Counters counters;
  log.flush(counters);
  EXPECT_EQ(counters.shared_loads, 2u);
}

TEST(AccessLog, TellsWidthsAndKindsOfOneStatementApart) {
  const CallSite site = CallSite::current();
  AccessLog log;
  log.record({AccessKind::kLoadGlobal, 4, nullptr, 0, site}, 0);
  log.record({AccessKind::kStoreGlobal, 4, nullptr, 1, site}, 0);
  log.record({AccessKind::kStoreGlobal, 8, nullptr, 2, site}, 64);
  log.record({AccessKind::kAddGlobal, 4, nullptr, 3, site}, 0);
  Counters counters;
  log.flush(counters);
  EXPECT_EQ(counters.global_loads, 1u);
  EXPECT_EQ(counters.global_stores, 2u);
  EXPECT_EQ(counters.global_atomics, 1u);
  EXPECT_EQ(counters.global_sectors_read, 1u);
  EXPECT_EQ(counters.global_sectors_written, 2u);
  EXPECT_EQ(counters.global_sectors_added, 1u);
  EXPECT_EQ(counters.global_wavefronts, 4u);
}

TEST(AccessLog, NamesTheLineOfAConflict) {
  const CallSite clean = CallSite::current();
  const CallSite conflicting = CallSite::current();
  AccessLog log;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    load_shared(log, lane, 4 * lane, clean);
    load_shared(log, lane, 128 * lane, conflicting);
  }
  Counters counters;
  log.flush(counters);
  const std::vector<SiteCounters> sites = log.sites();
  ASSERT_EQ(sites.size(), 2u);
  const auto worst = std::max_element(sites.begin(), sites.end(), [](const auto& a, const auto& b) {
    return a.bank_conflicts < b.bank_conflicts;
  });
  EXPECT_EQ(worst->line, static_cast<int>(conflicting.line()));
  EXPECT_EQ(worst->bank_conflicts, 31u);
  EXPECT_EQ(worst->shared_wavefronts, 32u);
  EXPECT_EQ(worst->instructions, 1u);
}

TEST(AccessLog, ForgetsWhatIsDiscarded) {
  AccessLog log;
  load_shared(log, 0, 0, CallSite::current());
  log.discard();
  Counters counters;
  log.flush(counters);
  EXPECT_EQ(counters, Counters{});
}

}  // namespace
}  // namespace sparkbench
