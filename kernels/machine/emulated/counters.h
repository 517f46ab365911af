// What a kernel asked of the hardware: warp instructions, and what the memory system makes of them.
#pragma once

#include <cstdint>
#include <string>

namespace sparkbench {

/// Instructions are counted once a warp, as profilers do.
struct Counters {
  std::uint64_t mma_m8n8k4 = 0;
  std::uint64_t mufu = 0;              // exp2, log2, reciprocal; lane calls / 32
  std::uint64_t half_conversions = 0;  // float to half, two a pack_halves; lane calls / 32
  std::uint64_t ballots = 0;
  std::uint64_t shuffles = 0;
  std::uint64_t barriers = 0;  // once a block

  std::uint64_t shared_loads = 0;
  std::uint64_t shared_stores = 0;
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t bank_conflicts = 0;  // wavefronts beyond the fewest possible (bank_conflicts.h)

  std::uint64_t global_loads = 0;
  std::uint64_t global_stores = 0;
  std::uint64_t global_atomics = 0;
  std::uint64_t global_sectors_read = 0;  // 32 bytes each, distinct within a warp instruction
  std::uint64_t global_sectors_written = 0;

  Counters& operator+=(const Counters& other) {
    mma_m8n8k4 += other.mma_m8n8k4;
    mufu += other.mufu;
    half_conversions += other.half_conversions;
    ballots += other.ballots;
    shuffles += other.shuffles;
    barriers += other.barriers;
    shared_loads += other.shared_loads;
    shared_stores += other.shared_stores;
    shared_wavefronts += other.shared_wavefronts;
    bank_conflicts += other.bank_conflicts;
    global_loads += other.global_loads;
    global_stores += other.global_stores;
    global_atomics += other.global_atomics;
    global_sectors_read += other.global_sectors_read;
    global_sectors_written += other.global_sectors_written;
    return *this;
  }
  bool operator==(const Counters&) const = default;
};

/// The memory traffic of one source line, so that a conflict can be named.
struct SiteCounters {
  std::string file;
  int line = 0;
  std::uint64_t instructions = 0;
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t bank_conflicts = 0;
  std::uint64_t global_sectors = 0;
};

}  // namespace sparkbench
