// The threads of a warp by where they are in the code: together until a branch parts them, and
// again from where they meet. Parted groups run one after the other, never in turns.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/flow/lane_words.h"

namespace sparkbench {

struct LaneGroup {
  enum class Waits : std::uint8_t { kNot, kAtBarrier, kForWarp };

  LaneMask lanes;
  std::int32_t next;                       // instruction
  std::vector<std::int32_t> returns = {};  // behind the calls that it is in
  Waits waits = Waits::kNot;
  std::uint8_t barrier = 0;  // kAtBarrier: which convergence barrier
  LaneMask meets = 0;        // lanes that it waits for
};

class LaneGroups {
 public:
  LaneGroups(LaneMask lanes, std::int32_t entry) : groups_{{lanes, entry}} {}

  bool is_done() const { return groups_.empty(); }
  /// The group that runs.
  LaneGroup& current() { return groups_.back(); }
  LaneMask live() const;
  bool is_converged() const { return groups_.size() == 1; }

  /// Some lanes of the current group go on at `next` when it has come to a stop; it loses them.
  void part(LaneMask lanes, std::int32_t next);
  /// The current group waits behind its instruction for `meets`. Returns false if nobody could go
  /// on and those furthest behind went on without the others.
  bool wait(LaneGroup::Waits waits, std::uint8_t barrier, LaneMask meets);
  /// The current group has ended. Returns as wait().
  bool end();

 private:
  void release_met();
  void release(LaneGroup::Waits waits, std::uint8_t barrier, LaneMask lanes);
  bool choose_next();

  std::vector<LaneGroup> groups_;  // the last runs
};

}  // namespace sparkbench
