// From the accesses of lanes, which the emulator runs one after another, back to the instructions
// of a warp: between two collectives, the lanes' k-th accesses at one statement are one
// instruction, and its addresses make the wavefronts and the sectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kernels/machine/emulated/memory/bank_conflicts.h"
#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/emulated/report/counters.h"

namespace sparkbench {

/// One warp at a time: every access of its lanes since the last collective, then flush().
class AccessLog {
 public:
  /// `location` is where the memory system sees the access.
  void record(const MemoryAccess& access, std::uintptr_t location) {
    const auto lane = static_cast<std::size_t>(access.lane());
    std::size_t& next = next_[lane];
    if (next >= used_ || !instructions_[next].takes(access)) [[unlikely]] {
      next = find_or_append(access);
    }
    WarpInstruction& instruction = instructions_[next++];
    instruction.active |= 1u << lane;
    instruction.address[lane] = location;
  }

  /// A copy of many bytes by one instruction, whose sectors and wavefronts are the fewest possible.
  void count_copy(Counters& counters, const CallSite& site, std::uint32_t sectors,
                  std::uint32_t bytes);

  /// Counts the instructions that the lanes' accesses amount to, and forgets the accesses.
  void flush(Counters& counters);
  void discard();

  /// One entry a source line, in no order.
  std::vector<SiteCounters> sites() const;

 private:
  struct WarpInstruction {
    CallSite site;
    AccessKind kind;
    std::uint32_t bytes;
    std::uint32_t active;  // bit i: lane i takes part
    LaneAddresses address;

    bool takes(const MemoryAccess& access) const {
      return same_site(site, access.site) && bytes == access.bytes && kind == access.kind &&
             ((active >> access.lane()) & 1u) == 0;
    }
  };
  struct SiteHash {
    std::size_t operator()(const CallSite& site) const {
      return reinterpret_cast<std::size_t>(site.file_name()) ^ site.line();
    }
  };
  struct SiteEqual {
    bool operator()(const CallSite& a, const CallSite& b) const { return same_site(a, b); }
  };

  /// Where a lane that left the common order continues: the next instruction of the same site
  /// that it has no part in, going round, or a new one.
  std::size_t find_or_append(const MemoryAccess& access);
  static void count_shared(const WarpInstruction& instruction, Counters& counters,
                           SiteCounters& site);
  static void count_global(const WarpInstruction& instruction, Counters& counters,
                           SiteCounters& site);

  std::vector<WarpInstruction> instructions_;  // the first used_ are in use
  std::size_t used_ = 0;
  std::array<std::size_t, kWarpLanes> next_{};  // by lane: the instruction expected next
  std::unordered_map<CallSite, SiteCounters, SiteHash, SiteEqual> sites_;
};

}  // namespace sparkbench
