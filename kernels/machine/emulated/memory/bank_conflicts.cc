#include "kernels/machine/emulated/memory/bank_conflicts.h"

#include <algorithm>
#include <span>

namespace sparkbench {
namespace {

constexpr std::uint32_t kBanks = 32;
constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kRequestBytes = 128;
constexpr std::uint32_t kSectorBytes = 32;

using Words = std::array<std::uintptr_t, kRequestBytes / kWordBytes>;

bool every_bank_serves_one_word(std::span<const std::uintptr_t> words) {
  std::array<std::uintptr_t, kBanks> served;
  std::uint32_t occupied = 0;
  bool clash = false;
  for (const std::uintptr_t word : words) {
    const std::uint32_t bank = word % kBanks;
    const std::uintptr_t holder = (occupied >> bank) & 1u ? served[bank] : word;
    clash |= holder != word;
    served[bank] = holder;
    occupied |= 1u << bank;
  }
  return !clash;
}

std::uint32_t request_wavefronts(std::span<std::uintptr_t> words) {
  if (every_bank_serves_one_word(words)) return 1;
  std::sort(words.begin(), words.end());
  const auto distinct_end = std::unique(words.begin(), words.end());
  std::array<std::uint32_t, kBanks> words_in_bank{};
  std::for_each(words.begin(), distinct_end,
                [&](std::uintptr_t word) { ++words_in_bank[word % kBanks]; });
  return *std::max_element(words_in_bank.begin(), words_in_bank.end());
}

}  // namespace

SharedCost shared_cost(const LaneAddresses& address, std::uint32_t active, std::uint32_t bytes) {
  const std::uint32_t words_per_lane = bytes / kWordBytes;
  const std::uint32_t lanes_per_request = kRequestBytes / bytes;
  SharedCost cost{request_count(active, bytes), 0};
  for (std::uint32_t first = 0; first < kWarpLanes; first += lanes_per_request) {
    Words words;
    std::size_t count = 0;
    for (std::uint32_t lane = first; lane < first + lanes_per_request; ++lane) {
      if (((active >> lane) & 1u) == 0) continue;
      for (std::uint32_t i = 0; i < words_per_lane; ++i) {
        words[count++] = address[lane] / kWordBytes + i;
      }
    }
    if (count != 0) cost.wavefronts += request_wavefronts({words.data(), count});
  }
  return cost;
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
