// How many wavefronts shared memory takes for one warp instruction on Volta: 32 banks of 4 bytes,
// a word (address / 4) in bank word % 32.
//
// The warp's lanes are served in requests of 128 bytes: all 32 lanes of a 4-byte access, half-warps
// (lanes 0-15, 16-31) of an 8-byte one, quarter-warps of a 16-byte one. A request takes as many
// wavefronts as the largest number of distinct words that fall in one bank; lanes that touch the
// same word share it. A request without an active lane is not made. At best each takes one.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/machine/emulated/memory/memory_access.h"

namespace sparkbench {

using LaneAddresses = std::array<std::uintptr_t, kWarpLanes>;

struct SharedCost {
  std::uint32_t requests;    // the fewest wavefronts possible
  std::uint32_t wavefronts;  // conflicts are what exceeds requests
};

/// `active` has bit i set when lane i takes part; `bytes` a lane, 4, 8 or 16, aligned.
SharedCost shared_cost(const LaneAddresses& address, std::uint32_t active, std::uint32_t bytes);

/// How many requests the active lanes make.
std::uint32_t request_count(std::uint32_t active, std::uint32_t bytes);

/// How many different 32-byte sectors the active lanes touch; no lane straddles two.
std::uint32_t distinct_sectors(const LaneAddresses& address, std::uint32_t active);

}  // namespace sparkbench
