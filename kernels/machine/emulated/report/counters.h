// Hardware counters of a kernel: warp instructions, and the memory transactions that they cause.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/base/accumulator.h"

namespace sparkbench {

/// Instructions are counted once per warp, as profilers do; arithmetic that C++ spells itself is
/// not seen.
struct Counters {
  std::uint64_t mma_m8n8k4 = 0;
  std::uint64_t mma_m16n8k16 = 0;
  std::uint64_t wgmma = 0;             // m64nNk16, once for each of its four warps
  std::uint64_t mma_fp16acc = 0;       // of all mma(), with an FP16 accumulator
  std::uint64_t mufu = 0;              // exp2, log2, reciprocal; lane calls / 32
  std::uint64_t half_conversions = 0;  // float to half, two a pack_halves; lane calls / 32
  std::uint64_t half_widenings = 0;    // half to float; lane calls / 32
  std::uint64_t fma = 0;               // lane calls / 32
  std::uint64_t shuffles = 0;
  std::uint64_t barriers = 0;  // once per block, or per team

  std::uint64_t shared_loads = 0;
  std::uint64_t shared_stores = 0;
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t bank_conflicts = 0;  // wavefronts beyond the fewest possible (bank_conflicts.h)

  std::uint64_t global_loads = 0;
  std::uint64_t global_stores = 0;
  std::uint64_t global_atomics = 0;
  std::uint64_t global_wavefronts = 0;    // the fewest possible, as for shared memory
  std::uint64_t global_sectors_read = 0;  // 32 bytes each, distinct within a warp instruction
  std::uint64_t global_sectors_written = 0;
  std::uint64_t global_sectors_added = 0;  // by atomics

  std::uint64_t mma() const { return mma_m8n8k4 + mma_m16n8k16 + wgmma; }
  /// Counts `count` of one kind of mma instruction.
  void add_mma(std::uint64_t Counters::*instruction, Accumulator accumulator, std::uint64_t count) {
    this->*instruction += count;
    if (accumulator == Accumulator::kFp16) mma_fp16acc += count;
  }

  Counters& operator+=(const Counters& other);
  Counters& operator-=(const Counters& other);
  bool operator==(const Counters&) const = default;
};

inline constexpr std::array<std::uint64_t Counters::*, 21> kCounterFields = {
    &Counters::mma_m8n8k4,
    &Counters::mma_m16n8k16,
    &Counters::wgmma,
    &Counters::mma_fp16acc,
    &Counters::mufu,
    &Counters::half_conversions,
    &Counters::half_widenings,
    &Counters::fma,
    &Counters::shuffles,
    &Counters::barriers,
    &Counters::shared_loads,
    &Counters::shared_stores,
    &Counters::shared_wavefronts,
    &Counters::bank_conflicts,
    &Counters::global_loads,
    &Counters::global_stores,
    &Counters::global_atomics,
    &Counters::global_wavefronts,
    &Counters::global_sectors_read,
    &Counters::global_sectors_written,
    &Counters::global_sectors_added};
static_assert(sizeof(Counters) == kCounterFields.size() * sizeof(std::uint64_t),
              "every counter is a field");

inline Counters& Counters::operator+=(const Counters& other) {
  for (const auto field : kCounterFields) this->*field += other.*field;
  return *this;
}

inline Counters& Counters::operator-=(const Counters& other) {
  for (const auto field : kCounterFields) this->*field -= other.*field;
  return *this;
}

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
