// What a block's loads and stores of shared memory cost, where their addresses are known.
#pragma once

#include <cstdint>

#include "harness/model/flow/lane_words.h"

namespace sparkbench {

struct SharedAccesses {
  std::uint64_t instructions = 0;
  std::uint64_t wavefronts = 0;
  std::uint64_t conflicts = 0;  // wavefronts beyond the fewest possible
  std::uint64_t unknown = 0;    // instructions whose addresses, or lanes, are not known

  SharedAccesses& operator+=(const SharedAccesses& other);

  /// `bytes` a lane: 1 to 16.
  void add(const LaneWords& address, const ActiveLanes& lanes, int bytes);
};

}  // namespace sparkbench
