// Who touched each word of a block's shared memory last, and when: enough to tell whether a new
// access races with an earlier one.
//
// Time is counted per warp: a warp's clock ticks at each sync_warp and each barrier. An earlier
// touch is ordered before now if barriers since lead from its warp to this one, possibly through
// others (a vector clock), or, for a touch of the same warp, if the warp has passed a sync_warp. A
// block starts with a tick of every clock, which forgets the block before.
//
// A TMA copy counts as its warp's, at the time when the warp started it. Whoever waits for its
// barrier learns that time.
//
// A tensor core reads shared memory through another proxy than stores write it: it sees a word if
// the writer's thread has fenced after it wrote.
//
// A word remembers its last writer and two readers: the last one, and a different one, from another
// warp if there is such since the last barrier. Two suffice if all barriers are of the whole block:
// if any unordered reader is a thread other than the writer, so is one of these. If barriers of
// some warps order the readers differently, a reader can be forgotten.
//
// Most accesses are of 16 bytes, whose four words then have one state: they are one word of the
// shadow until an access of fewer bytes splits them, for the rest of the block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/emulated/report/finding.h"

namespace sparkbench {

class SharedShadow {
 public:
  /// Why an access is wrong, and the earlier access that it clashes with, if any.
  struct Hazard {
    FindingKind kind;  // kSharedRace, kUninitializedRead or kMissingProxyFence
    std::size_t offset;
    std::optional<int> other_thread;
    CallSite other_site;
    bool other_writes;
  };

  static constexpr int kBarriers = 16;

  /// `bytes` of shared memory for a block of `warps` warps.
  SharedShadow(std::size_t bytes, int warps);

  /// Shared memory has at least this many bytes from now on.
  void extend_to(std::size_t bytes);
  /// The next block's threads know nothing of what is in shared memory.
  void begin_block();
  void barrier() { barrier(0, warps()); }
  /// A barrier of the warps [first_warp, end_warp).
  void barrier(int first_warp, int end_warp);
  void sync_warp(int warp) { ++clocks_[static_cast<std::size_t>(warp)].now; }
  /// arrive: the barrier `id`, below kBarriers, learns what the warp knows. complete: the waiting
  /// warps, a bit each, learn all that it has learnt.
  void arrive_at_barrier(int id, int warp);
  void complete_barrier(int id, std::uint32_t waiting_warps);

  /// A phase barrier (mbarrier), from which a warp may learn after phases have ended. Returns its
  /// id, also for arrive_at_barrier(), valid until the block ends.
  int add_phase_barrier();
  void end_phase(int id);
  /// The warp learns what the warps knew that arrived in phases that have ended.
  void learn(int id, int warp);

  /// The time at which the warp starts a copy, which is now.
  std::uint32_t start_time(int warp) { return clocks_[static_cast<std::size_t>(warp)].now++; }
  /// The barrier learns of a copy that the warp started at start_time.
  void arrive_copy(int id, int warp, std::uint32_t start_time);

  void fence_async_proxy(int thread) { ++fences_[static_cast<std::size_t>(thread)]; }

  /// The first hazard of an aligned access `offset` bytes into shared memory, which then happens.
  std::optional<Hazard> read(std::size_t offset, const MemoryAccess& access);
  std::optional<Hazard> write(std::size_t offset, const MemoryAccess& access);
  /// The beginning of an asynchronous write: until write() ends it, nothing may read the words.
  std::optional<Hazard> start_copy(std::size_t offset, const MemoryAccess& access);
  /// The end of a TMA copy, which writes through the proxy by which a tensor core reads.
  std::optional<Hazard> end_copy(std::size_t offset, const MemoryAccess& access,
                                 std::uint32_t start_time);

 private:
  struct Touch {
    CallSite site;
    std::uint32_t time = 0;  // by the clock of the thread's warp; 0 is before every block
    int thread = 0;

    std::size_t warp() const { return static_cast<std::size_t>(thread) / kWarpLanes; }
  };
  struct Word {
    Touch writer;
    Touch last_reader;
    Touch other_reader;
    std::uint32_t fences = 0;  // of the writer, before it wrote
    bool copy_is_pending = false;
  };
  struct alignas(64) Line {  // one of the cache
    Word word;
  };
  /// In Word::fences: no fence is needed.
  static constexpr std::uint32_t kByAsyncProxy = ~0u;

  struct Clock {
    std::uint32_t now = 1;
    std::uint32_t block_start = 1;
  };

  int warps() const { return static_cast<int>(clocks_.size()); }
  /// Calls visit(word, offset) for what an access touches, in ascending order.
  template <class Visit>
  void for_each_word(std::size_t offset, std::size_t bytes, Visit visit);
  /// The four words of a line, which is split from now on.
  Word* parts_of(std::size_t line);
  bool is_written(const Word& word) const {
    return word.writer.time >= clocks_[word.writer.warp()].block_start;
  }
  /// Touches of `warp` before this time are ordered before what `observer` does now.
  std::uint32_t& known(std::size_t observer, std::size_t warp) {
    return known_[observer * clocks_.size() + warp];
  }
  bool since_barrier(const Touch& touch, std::size_t observer) const {
    return touch.time >= known_[observer * clocks_.size() + touch.warp()];
  }
  bool races(const Touch& earlier, const Touch& now) const {
    if (earlier.thread == now.thread) return false;
    return earlier.warp() == now.warp() ? earlier.time == now.time
                                        : since_barrier(earlier, now.warp());
  }
  Touch touch(const MemoryAccess& access) const;
  bool may_read(const Word& word, const Touch& now, AccessKind kind) const;
  Hazard hazard_of_read(const Word& word, std::size_t at, const Touch& now) const;
  std::optional<Hazard> write(std::size_t offset, const MemoryAccess& access, const Touch& now,
                              std::uint32_t fences, bool is_pending);
  std::uint32_t fences_of(int thread) const { return fences_[static_cast<std::size_t>(thread)]; }
  void remember_reader(Word& word, const Touch& now) const;

  std::vector<Line> lines_;                // of 16 aligned bytes each, unless they are split
  std::vector<Word> parts_;                // four for each line that is split, after four for none
  std::vector<std::uint32_t> first_part_;  // by line: in parts_, or 0
  std::vector<Clock> clocks_;              // by warp
  std::vector<std::uint32_t> known_;       // known()
  std::vector<std::uint32_t> fences_;      // how many, by thread
  std::vector<std::uint32_t> learnt_;      // by barrier and warp, as known()
  std::vector<std::uint32_t> taught_;      // what learn() teaches, likewise
};

}  // namespace sparkbench
