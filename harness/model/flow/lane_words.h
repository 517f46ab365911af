// The 32 lanes of a warp, each with a word or a truth value of its own, which may be unknown: of
// what a kernel loads from global memory most is no part of this model.
#pragma once

#include <array>
#include <cstdint>

namespace sparkbench {

inline constexpr int kLanes = 32;

using LaneMask = std::uint32_t;  // bit i: lane i
inline constexpr LaneMask kAllLanes = ~0u;

inline bool has_lane(LaneMask mask, int lane) { return (mask >> lane & 1u) != 0; }

struct LaneWords {
  std::array<std::uint32_t, kLanes> value{};
  LaneMask known = 0;

  static LaneWords all(std::uint32_t word) {
    LaneWords words;
    words.value.fill(word);
    words.known = kAllLanes;
    return words;
  }
};

struct LaneTruth {
  LaneMask value = 0;
  LaneMask known = 0;

  LaneMask is_true() const { return value & known; }
  LaneMask is_false() const { return ~value & known; }

  static LaneTruth all(bool truth) { return {truth ? kAllLanes : 0, kAllLanes}; }
  LaneTruth operator!() const { return {~value, known}; }
};

/// Known as soon as one side decides.
inline LaneTruth operator&(const LaneTruth& a, const LaneTruth& b) {
  return {a.is_true() & b.is_true(), a.is_false() | b.is_false() | (a.known & b.known)};
}
inline LaneTruth operator|(const LaneTruth& a, const LaneTruth& b) { return !((!a) & (!b)); }
inline LaneTruth operator^(const LaneTruth& a, const LaneTruth& b) {
  return {a.value ^ b.value, a.known & b.known};
}

/// Lanes that execute an instruction, and lanes of which that is unknown.
struct ActiveLanes {
  LaneMask certain = 0;
  LaneMask possible = 0;

  LaneMask any() const { return certain | possible; }
};

inline void assign(LaneWords& to, const LaneWords& from, const ActiveLanes& lanes) {
  if (lanes.certain == kAllLanes) {
    to = from;
    return;
  }
  LaneMask equal = 0;
  for (int i = 0; i < kLanes; ++i) equal |= LaneMask{to.value[i] == from.value[i]} << i;
  for (int i = 0; i < kLanes; ++i) {
    if (has_lane(lanes.certain, i)) to.value[i] = from.value[i];
  }
  to.known = (to.known & ~lanes.any()) | (from.known & lanes.certain) |
             (to.known & from.known & equal & lanes.possible);
}

inline void assign(LaneTruth& to, const LaneTruth& from, const ActiveLanes& lanes) {
  const LaneMask equal = ~(to.value ^ from.value);
  to.value = (to.value & ~lanes.certain) | (from.value & lanes.certain);
  to.known = (to.known & ~lanes.any()) | (from.known & lanes.certain) |
             (to.known & from.known & equal & lanes.possible);
}

}  // namespace sparkbench
