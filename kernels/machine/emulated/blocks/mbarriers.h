// The phase barriers that a block has in its shared memory (mbarrier, machine.h).
#pragma once

#include <cstdint>
#include <vector>

namespace sparkbench {

/// A barrier in its current phase.
struct PhaseBarrier {
  std::uint32_t offset;  // in shared memory
  int id;                // of the race detector's
  int warps;             // that arrive in each phase
  int awaited_warps;     // in this one
  std::int64_t awaited_bytes = 0;
  std::uint32_t phase = 0;
  std::uint32_t waiting_warps = 0;  // for the end of this phase, a bit each

  bool is_complete() const { return awaited_warps == 0 && awaited_bytes == 0; }
  /// Whether the last phase of this parity has ended.
  bool has_ended(int parity) const { return (phase & 1u) != static_cast<std::uint32_t>(parity); }
  /// Begins the next phase. Returns the warps that waited for this one's end.
  std::uint32_t end_phase() {
    ++phase;
    awaited_warps = warps;
    const std::uint32_t woken = waiting_warps;
    waiting_warps = 0;
    return woken;
  }
};

class Mbarriers {
 public:
  void begin_block() { barriers_.clear(); }
  void init(std::uint32_t offset, int id, int warps) {
    const PhaseBarrier made{offset, id, warps, warps};
    if (PhaseBarrier* const there = find(offset)) {
      *there = made;
    } else {
      barriers_.push_back(made);
    }
  }
  PhaseBarrier* find(std::uint32_t offset) {
    for (PhaseBarrier& barrier : barriers_) {
      if (barrier.offset == offset) return &barrier;
    }
    return nullptr;
  }
  /// One that warps wait at, or null.
  const PhaseBarrier* first_awaited() const {
    for (const PhaseBarrier& barrier : barriers_) {
      if (barrier.waiting_warps != 0) return &barrier;
    }
    return nullptr;
  }

 private:
  std::vector<PhaseBarrier> barriers_;
};

}  // namespace sparkbench
