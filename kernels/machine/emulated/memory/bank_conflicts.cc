#include "kernels/machine/emulated/memory/bank_conflicts.h"

#include <algorithm>
#include <span>

namespace sparkbench {
namespace {

constexpr std::uint32_t kRequestBytes = 128;  // a word of each bank
constexpr std::uint32_t kSectorBytes = 32;

// A lane's access is aligned to its size: it takes all banks of a slot. There are as many slots as
// a request has lanes, and lanes conflict in all banks of a slot or in none.

template <std::uint32_t kSlots>
bool every_slot_serves_one(std::span<const std::uintptr_t> accesses) {
  std::array<std::uintptr_t, kSlots> served;
  std::uint32_t occupied = 0;
  bool clash = false;
  for (const std::uintptr_t access : accesses) {
    const std::uint32_t slot = access % kSlots;
    const std::uintptr_t holder = (occupied >> slot) & 1u ? served[slot] : access;
    clash |= holder != access;
    served[slot] = holder;
    occupied |= 1u << slot;
  }
  return !clash;
}

template <std::uint32_t kSlots>
std::uint32_t request_wavefronts(std::span<std::uintptr_t> accesses) {
  if (every_slot_serves_one<kSlots>(accesses)) return 1;
  std::sort(accesses.begin(), accesses.end());
  const auto distinct_end = std::unique(accesses.begin(), accesses.end());
  std::array<std::uint32_t, kSlots> distinct_in_slot{};
  std::for_each(accesses.begin(), distinct_end,
                [&](std::uintptr_t access) { ++distinct_in_slot[access % kSlots]; });
  return *std::max_element(distinct_in_slot.begin(), distinct_in_slot.end());
}

template <std::uint32_t kBytes>
SharedCost cost_of(const LaneAddresses& address, std::uint32_t active) {
  constexpr std::uint32_t kLanes = kRequestBytes / kBytes;
  SharedCost cost{request_count(active, kBytes), 0};
  for (std::uint32_t first = 0; first < kWarpLanes; first += kLanes) {
    std::array<std::uintptr_t, kLanes> accesses;
    std::size_t count = 0;
    for (std::uint32_t lane = first; lane < first + kLanes; ++lane) {
      if (((active >> lane) & 1u) != 0) accesses[count++] = address[lane] / kBytes;
    }
    if (count != 0) cost.wavefronts += request_wavefronts<kLanes>({accesses.data(), count});
  }
  return cost;
}

}  // namespace

SharedCost shared_cost(const LaneAddresses& address, std::uint32_t active, std::uint32_t bytes) {
  switch (bytes) {
    case 4:
      return cost_of<4>(address, active);
    case 8:
      return cost_of<8>(address, active);
    default:
      return cost_of<16>(address, active);
  }
}

std::uint32_t request_count(std::uint32_t active, std::uint32_t bytes) {
  const std::uint32_t lanes_per_request = kRequestBytes / bytes;
  const std::uint32_t lanes_of_one = ~0u >> (kWarpLanes - lanes_per_request);
  std::uint32_t requests = 0;
  for (std::uint32_t first = 0; first < kWarpLanes; first += lanes_per_request) {
    requests += (active >> first & lanes_of_one) != 0;
  }
  return requests;
}

std::uint32_t distinct_sectors(const LaneAddresses& address, std::uint32_t active) {
  LaneAddresses sectors;
  std::size_t count = 0;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    if (((active >> lane) & 1u) == 0) continue;
    const std::uintptr_t sector = address[static_cast<std::size_t>(lane)] / kSectorBytes;
    if (count == 0 || sectors[count - 1] != sector) sectors[count++] = sector;
  }
  const auto end = sectors.begin() + static_cast<std::ptrdiff_t>(count);
  if (!std::is_sorted(sectors.begin(), end)) std::sort(sectors.begin(), end);
  return static_cast<std::uint32_t>(std::unique(sectors.begin(), end) - sectors.begin());
}

}  // namespace sparkbench
