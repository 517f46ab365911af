// A warp on its way, and its block's barriers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "harness/model/flow/warp_path.h"
#include "harness/model/sm/timed_code.h"
#include "harness/model/sm/wait_reason.h"

namespace sparkbench {

using Cycle = std::int64_t;

/// One of a warp's six.
struct Scoreboard {
  int pending = 0;         // instructions that hold it
  int pending_tensor = 0;  // HMMAs among them, by their results
  Cycle last_tensor = 0;   // the last such HMMA's issue
  Cycle released = 0;
  WaitReason reason = WaitReason::kIssuing;  // of the last release
};

struct WarpState {
  const WarpPath* path = nullptr;  // null: its block has ended, and no other followed
  int slot = 0;                    // of its block
  int warp = 0;                    // of the block
  int generation = 0;              // of the blocks that had the slot
  int position = 0;                // in the path
  int passes = 0;
  Cycle next_issue = 0;  // by the stall count
  Cycle ready = 0;       // the same, before it met an instruction that was not fetched
  Cycle barrier_release = 0;
  double fetch = 0;  // waited for the next instruction
  int line = -1;     // of code, being executed
  bool is_done = true;
  bool is_at_barrier = false;
  std::uint8_t pending = 0;  // scoreboards, a bit each
  std::array<Scoreboard, kScoreboards> scoreboards{};
  int next_mark = 0;                                      // of the simulation's
  int marked_position = std::numeric_limits<int>::max();  // that mark's
};

/// A barrier of a block.
struct BarrierState {
  int arrived = 0;
  std::uint32_t waiting = 0;  // warps, a bit each
  bool is_of_block = false;   // all of its warps that still run meet here
};

/// What is due at a time: a scoreboard's release, or that of the warps at a barrier.
struct Event {
  double time;
  std::int64_t sequence;  // decides between equal times
  std::int32_t warp;      // of the SM; of a barrier, the first of the block's
  std::int32_t generation;
  std::uint32_t waiting;   // warps of a barrier
  std::int8_t scoreboard;  // -1: a barrier
  bool is_tensor_result;
  WaitReason reason;
};

/// The earliest first.
class EventQueue {
 public:
  bool is_due(Cycle now) const { return !heap_.empty() && heap_.front().time <= now; }
  double next() const {
    return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().time;
  }
  void push(Event event) {
    event.sequence = ++sequence_;
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool is_later(const Event& one, const Event& other) {
    return one.time != other.time ? one.time > other.time : one.sequence > other.sequence;
  }

  std::vector<Event> heap_;
  std::int64_t sequence_ = 0;
};

}  // namespace sparkbench
