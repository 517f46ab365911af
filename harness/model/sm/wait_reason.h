// What a warp spends its time on.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "harness/model/sm/timing_class.h"

namespace sparkbench {

enum class WaitReason : std::uint8_t {
  kIssuing,
  kStallCount,  // that the compiler put into the code
  kBarrier,
  kFetch,  // of instructions
  kPort,   // + Port: taken by another instruction, or the scheduler chose another warp
  kMioQueue = kPort + kPorts,           // full, or the scheduler chose another warp
  kResult,                              // + TimingClass: a result that is not there
  kSources = kResult + kTimingClasses,  // + TimingClass: sources that are not read
};
inline constexpr int kWaitReasons = static_cast<int>(WaitReason::kSources) + kTimingClasses;

inline WaitReason operator+(WaitReason reason, Port port) {
  return static_cast<WaitReason>(static_cast<int>(reason) + static_cast<int>(port));
}
inline WaitReason operator+(WaitReason reason, TimingClass value) {
  return static_cast<WaitReason>(static_cast<int>(reason) + static_cast<int>(value));
}

/// "issuing", "barrier", "port tensor", "scoreboard LDS", "scoreboard LDS read", ...
std::string name_of(WaitReason reason);

/// Cycles by reason.
class WaitTimes {
 public:
  double operator[](WaitReason reason) const { return cycles_[static_cast<std::size_t>(reason)]; }
  void add(WaitReason reason, double cycles) {
    cycles_[static_cast<std::size_t>(reason)] += cycles;
  }
  double total() const;

 private:
  std::array<double, kWaitReasons> cycles_{};
};

}  // namespace sparkbench
