#include "harness/model/flow/shared_accesses.h"

#include <algorithm>

#include "kernels/machine/emulated/memory/bank_conflicts.h"

namespace sparkbench {

SharedAccesses& SharedAccesses::operator+=(const SharedAccesses& other) {
  instructions += other.instructions;
  wavefronts += other.wavefronts;
  conflicts += other.conflicts;
  unknown += other.unknown;
  return *this;
}

void SharedAccesses::add(const LaneWords& address, const ActiveLanes& lanes, int bytes) {
  ++instructions;
  if (lanes.possible != 0 || (lanes.certain & ~address.known) != 0) {
    ++unknown;
    return;
  }
  LaneAddresses places;
  std::copy(address.value.begin(), address.value.end(), places.begin());
  const SharedCost cost =
      shared_cost(places, lanes.certain, static_cast<std::uint32_t>(std::max(bytes, 4)));
  wavefronts += cost.wavefronts;
  conflicts += cost.wavefronts - cost.requests;
}

}  // namespace sparkbench
