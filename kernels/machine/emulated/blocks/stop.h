// Where a thread has stopped to wait for others: at a collective, or at its end.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/report/call_site.h"

namespace sparkbench {

enum class Collective : std::uint32_t {
  kBarrier,
  kBarrierOfWarps,
  kTeamBarrier,
  kArriveAtBarrier,
  kWaitAtBarrier,
  kInitMbarrier,
  kArriveAtMbarrier,
  kExpectBytes,
  kWaitAtMbarrier,
  kCopyBox,
  kCopyBytes,
  kLookForTurn,
  kAwaitTurn,
  kSyncWarp,
  kShuffle,
  kBallot,
  kMmaM8n8k4,
  kMmaM16n8k16,
  kFenceProducts,
  kMultiplyAsync,
  kCommitProducts,
  kWaitForProducts,
  kExit
};

inline bool is_barrier(Collective collective) {
  return collective == Collective::kBarrier || collective == Collective::kBarrierOfWarps ||
         collective == Collective::kTeamBarrier || collective == Collective::kWaitAtBarrier ||
         collective == Collective::kWaitAtMbarrier;
}

struct Stop {
  Collective collective;
  std::uint32_t arguments;  // in any encoding that tells them apart
  CallSite site;

  bool operator==(const Stop& other) const {
    return collective == other.collective && arguments == other.arguments &&
           same_site(site, other.site);
  }
};

/// "shuffle_xor at line 42", "its end".
std::string describe(const Stop& stop);

/// "3", "0-31", "0-3, 8"; `threads` ascend.
std::string describe_threads(std::span<const int> threads);

}  // namespace sparkbench
