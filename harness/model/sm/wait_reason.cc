#include "harness/model/sm/wait_reason.h"

#include <numeric>

namespace sparkbench {
namespace {

constexpr std::string_view kPlainReasons[] = {
    "issuing",     "fixed stall count", "barrier",  "instruction fetch", "issue slot",
    "port tensor", "port FMA",          "port ALU", "port XU",           "MIO queue"};

}  // namespace

std::string name_of(WaitReason reason) {
  const int sources = static_cast<int>(reason) - static_cast<int>(WaitReason::kSources);
  const int result = static_cast<int>(reason) - static_cast<int>(WaitReason::kResult);
  if (result < 0) return std::string(kPlainReasons[static_cast<int>(reason)]);
  const auto value = static_cast<TimingClass>(sources < 0 ? result : sources);
  return "scoreboard " + std::string(name_of(value)) + (sources < 0 ? "" : " read");
}

double WaitTimes::total() const { return std::accumulate(cycles_.begin(), cycles_.end(), 0.0); }

}  // namespace sparkbench
