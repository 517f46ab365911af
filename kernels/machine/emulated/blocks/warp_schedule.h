// The order in which ready warps, and the lanes of a warp, run. A correct kernel computes the same
// under every order, so a seed is a replay.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sparkbench {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}

  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// The choices of one block: a function of the seed and the block. Seed 0 is the natural order:
/// lanes ascend, and a warp runs until a barrier or its end before the next one does.
class WarpSchedule {
 public:
  WarpSchedule(std::uint64_t seed, std::uint64_t block_index)
      : natural_(seed == 0), random_(SplitMix64(seed)() ^ block_index) {}

  /// The i-th lane to run is i ^ mask: every lane comes before every other under half of the masks.
  int lane_mask() { return natural_ ? 0 : static_cast<int>(random_() & 31u); }

  /// Whether an event that may happen now or later happens later.
  bool is_late() { return !natural_ && (random_() & 1u) != 0; }

  /// The same, but true for one event in eight.
  bool is_rarely() { return !natural_ && (random_() & 7u) == 0; }

  /// One of the warps whose bits are set in `ready`, which is not 0; `last` ran last.
  int next_warp(std::uint32_t ready, int last) {
    if (natural_) return (ready >> last) & 1u ? last : std::countr_zero(ready);
    auto skipped = random_() % static_cast<std::uint64_t>(std::popcount(ready));
    for (; skipped != 0; --skipped) ready &= ready - 1;
    return std::countr_zero(ready);
  }

 private:
  bool natural_;
  SplitMix64 random_;
};

/// Shuffles (Fisher-Yates) under a seed; seed 0 leaves the order alone.
template <class T>
void permute(std::vector<T>& items, std::uint64_t seed) {
  if (seed == 0) return;
  SplitMix64 random(seed);
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

}  // namespace sparkbench
