#include "harness/model/flow/lane_groups.h"

#include <algorithm>

namespace sparkbench {
namespace {

using Waits = LaneGroup::Waits;

bool waits_likewise(const LaneGroup& group, Waits waits, std::uint8_t barrier) {
  return group.waits == waits && group.barrier == barrier;
}

}  // namespace

LaneMask LaneGroups::live() const {
  LaneMask lanes = 0;
  for (const LaneGroup& group : groups_) lanes |= group.lanes;
  return lanes;
}

void LaneGroups::part(LaneMask lanes, std::int32_t next) {
  LaneGroup parted{lanes, next, current().returns};
  current().lanes &= ~lanes;
  groups_.insert(groups_.end() - 1, std::move(parted));
}

bool LaneGroups::wait(Waits waits, std::uint8_t barrier, LaneMask meets) {
  LaneGroup& group = current();
  ++group.next;
  if ((meets & live() & ~group.lanes) == 0) return true;
  group.waits = waits;
  group.barrier = barrier;
  group.meets = meets;
  release_met();
  return choose_next();
}

bool LaneGroups::end() {
  groups_.pop_back();
  release_met();
  return groups_.empty() || choose_next();
}

/// Lanes that have ended are waited for no longer.
void LaneGroups::release_met() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const LaneGroup waiting = groups_[i];
    if (waiting.waits == Waits::kNot) continue;
    LaneMask arrived = 0;
    for (const LaneGroup& group : groups_) {
      if (waits_likewise(group, waiting.waits, waiting.barrier)) arrived |= group.lanes;
    }
    const LaneMask awaited = waiting.meets & live();
    if ((awaited & ~arrived) != 0) continue;
    release(waiting.waits, waiting.barrier, awaited | waiting.lanes);
    i = static_cast<std::size_t>(-1);  // groups have moved
  }
}

/// Those at one place become one group.
void LaneGroups::release(Waits waits, std::uint8_t barrier, LaneMask lanes) {
  std::vector<LaneGroup> kept, released;
  for (LaneGroup& group : groups_) {
    if (!waits_likewise(group, waits, barrier) || (group.lanes & lanes) == 0) {
      kept.push_back(std::move(group));
      continue;
    }
    group.waits = Waits::kNot;
    const auto same = std::find_if(released.begin(), released.end(), [&](const LaneGroup& other) {
      return other.next == group.next;
    });
    if (same != released.end()) {
      same->lanes |= group.lanes;
    } else {
      released.push_back(std::move(group));
    }
  }
  groups_ = std::move(kept);
  groups_.insert(groups_.end(), released.begin(), released.end());
}

bool LaneGroups::choose_next() {
  const auto runs = [](const LaneGroup& group) { return group.waits == Waits::kNot; };
  auto found = std::find_if(groups_.rbegin(), groups_.rend(), runs);
  const bool can_go_on = found != groups_.rend();
  if (!can_go_on) {
    const LaneGroup last =
        *std::min_element(groups_.begin(), groups_.end(),
                          [](const LaneGroup& a, const LaneGroup& b) { return a.next < b.next; });
    release(last.waits, last.barrier, last.lanes);
    return false;
  }
  std::rotate(found.base() - 1, found.base(), groups_.end());
  return true;
}

}  // namespace sparkbench
