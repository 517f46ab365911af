#include "kernels/machine/emulated/blocks/stop.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace sparkbench {
namespace {

std::string_view name(Collective collective) {
  switch (collective) {
    case Collective::kBarrier:
      return "barrier";
    case Collective::kBarrierOfWarps:
      return "barrier_of_warps";
    case Collective::kTeamBarrier:
      return "team_barrier";
    case Collective::kArriveAtBarrier:
      return "arrive_at_barrier";
    case Collective::kWaitAtBarrier:
      return "wait_at_barrier";
    case Collective::kInitMbarrier:
      return "init_mbarrier";
    case Collective::kArriveAtMbarrier:
      return "arrive_at_mbarrier";
    case Collective::kExpectBytes:
      return "expect_bytes";
    case Collective::kWaitAtMbarrier:
      return "wait_at_mbarrier";
    case Collective::kCopyBox:
      return "copy_box_async";
    case Collective::kCopyBytes:
      return "copy_bytes_async";
    case Collective::kLookForTurn:
      return "look_for_turn";
    case Collective::kAwaitTurn:
      return "await_turn";
    case Collective::kSyncWarp:
      return "sync_warp";
    case Collective::kShuffle:
      return "shuffle_xor";
    case Collective::kBallot:
      return "ballot";
    case Collective::kMmaM8n8k4:
      return "mma_m8n8k4";
    case Collective::kMmaM16n8k16:
      return "mma_m16n8k16";
    case Collective::kFenceProducts:
      return "fence_products";
    case Collective::kMultiplyAsync:
      return "multiply_async";
    case Collective::kCommitProducts:
      return "commit_products";
    case Collective::kWaitForProducts:
      return "wait_for_products";
    case Collective::kExit:
      return "its end";
  }
  return "unknown";
}

}  // namespace

std::string describe(const Stop& stop) {
  if (stop.collective == Collective::kExit) return std::string(name(stop.collective));
  return fmt::format("{} at line {}", name(stop.collective), stop.site.line());
}

std::string describe_threads(std::span<const int> threads) {
  std::string text;
  for (std::size_t first = 0; first < threads.size();) {
    std::size_t last = first;
    while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) ++last;
    if (first != 0) text += ", ";
    text += first == last ? fmt::format("{}", threads[first])
                          : fmt::format("{}-{}", threads[first], threads[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace sparkbench
