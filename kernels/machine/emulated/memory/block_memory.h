// The memory that a block sees, shared and global: every access is checked, watched and counted,
// then done. A forbidden access is reported and not done: a load returns 0xff bytes, a store does
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/machine/emulated/memory/access_log.h"
#include "kernels/machine/emulated/memory/block_turns.h"
#include "kernels/machine/emulated/memory/global_memory.h"
#include "kernels/machine/emulated/memory/in_flight.h"
#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/memory/published_words.h"
#include "kernels/machine/emulated/memory/shared_shadow.h"
#include "kernels/machine/emulated/report/counters.h"
#include "kernels/machine/emulated/report/finding.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

/// One worker's; used for block after block.
class BlockMemory {
 public:
  /// Bounds, alignment and read-only regions are always checked; `detect` adds races and reads of
  /// memory that nothing has written; `count` counts.
  struct Options {
    std::size_t shared_bytes;
    int warps;
    bool detect;
    bool count;
  };

  BlockMemory(const Options& options, GlobalMemory& global, FindingLog& findings);

  /// Shared memory is 0xff bytes (NaN) from here on, and nothing in it counts as written.
  void begin_block(std::uint32_t block_index);
  /// A barrier of all threads.
  void barrier();
  /// A barrier of the warps [first_warp, end_warp).
  void barrier(int first_warp, int end_warp);
  void sync_warp(int warp);
  /// Orders what the warp did before what the warps do that the barrier `id` lets continue.
  void arrive_at_barrier(int id, int warp);
  void complete_barrier(int id, std::uint32_t waiting_warps);
  // Phase barriers (mbarriers), as in SharedShadow.
  int add_phase_barrier() {
    if (turns_.exist()) turns_.shadow().add_phase_barrier();
    if (published_.exist()) published_.shadow().add_phase_barrier();
    return shadow_.add_phase_barrier();
  }
  void end_phase(int id) {
    for_each_shadow([&](SharedShadow& shadow) { shadow.end_phase(id); });
  }
  void learn(int id, int warp) {
    for_each_shadow([&](SharedShadow& shadow) { shadow.learn(id, warp); });
  }
  void arrive_copy(int id, int warp, std::uint32_t time) {
    for_each_shadow([&](SharedShadow& shadow) { shadow.arrive_copy(id, warp, time); });
  }
  std::uint32_t start_time(int warp) {
    if (turns_.exist()) turns_.shadow().start_time(warp);
    if (published_.exist()) published_.shadow().start_time(warp);
    return shadow_.start_time(warp);
  }

  /// The lanes of the warp that ran have met: what they accessed becomes instructions.
  void end_warp_phase(Counters& counters) {
    if (options_.count) log_.flush(counters);
  }
  /// Forgets the accesses of a warp that never resumes.
  void abandon() { log_.discard(); }

  void* shared() { return shared_.data(); }
  /// Where in the block's shared memory.
  std::uint32_t shared_address(const void* shared) const {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(shared) - shared_begin_);
  }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(shared_.data()); }
  bool detects() const { return options_.detect; }
  const AccessLog& log() const { return log_; }

  template <class T>
  T load_shared(const MemoryAccess& access) {
    return admit_shared(access) ? load<T>(access) : poison<T>();
  }
  template <class T>
  void store_shared(const MemoryAccess& access, const T& value) {
    if (admit_shared(access)) store(access, value);
  }
  template <class T>
  T load_global(const MemoryAccess& access) {
    return admit_global(access) ? load<T>(access) : poison<T>();
  }
  template <class T>
  void store_global(const MemoryAccess& access, const T& value) {
    if (admit_global(access)) store(access, value);
  }
  /// As RED.ADD.F32, or .F32x4, each value by itself: subnormal inputs and results are zeros (PTX
  /// ISA, red.add.f32, global memory).
  void add_global(const MemoryAccess& access, std::span<const float> values);

  /// A lane's load of the semaphore word, counted. await_turn() follows by its warp.
  void look_for_turn(const MemoryAccess& access) { admit_word(access); }
  /// How many turns ago `turn` came; negative: not yet. Then the warp may store and add.
  int turns_since(const MemoryAccess& access, std::uint32_t turn);
  /// Returns once the word is at least `turn`, or when it never will be: no earlier block runs any
  /// more.
  void await_turn(const MemoryAccess& access, std::uint32_t turn,
                  const std::function<bool()>& earlier_blocks_run);
  void pass_turn(const MemoryAccess& access, std::uint32_t turn);

  /// The words belong to a region that is_published.
  void publish(const MemoryAccess& access, const Bits64& value);
  Bits128 look_for_published(const MemoryAccess& access);
  /// Returns as await_turn() does.
  void await_published(const MemoryAccess& access, const std::function<bool()>& earlier_blocks_run);
  void acquire_published(int thread) {
    if (published_.exist()) published_.acquire(thread);
  }
  /// The address may also be in another region, which an earlier launch wrote: then as
  /// load_global().
  template <class T>
  T load_published(const MemoryAccess& access) {
    if (!admit_published(access)) return poison<T>();
    if (published_.exist() && last_region_->is_published()) watch_published(access);
    return load<T>(access);
  }

  /// Starts a copy of the 16 bytes at `from`, which are read now, or of zeros, to `to`, which is
  /// poison until the copy has been waited for.
  void copy_async(const MemoryAccess& to, const MemoryAccess& from, bool exists);
  void commit_copies(int thread) { copies_[static_cast<std::size_t>(thread)].commit(); }
  /// Ends all but the thread's last `pending` groups of copies.
  void wait_for_copies(int thread, int pending);

  /// Reports an access that is not aligned to its size.
  void expect_aligned(const MemoryAccess& access) {
    if (!access.aligned()) refuse(access, true);
  }
  /// Starts a TMA copy to the 16 bytes at `to`, which are poison until it ends. Returns whether
  /// they may be written.
  bool start_chunk(const MemoryAccess& to);
  /// Ends it, with the bytes at `from`, or zeros if none exist. The warp started it at start_time.
  void end_chunk(const MemoryAccess& to, const MemoryAccess& from, bool exists,
                 std::uint32_t start_time);
  bool is_inside(const MemoryAccess& access) const {
    const std::uintptr_t offset = access.location() - shared_begin_;
    return offset < options_.shared_bytes && options_.shared_bytes - offset >= access.bytes;
  }
  /// Counts a TMA copy: what it read, and wrote.
  void count_copy(Counters& counters, const CallSite& site, std::uint32_t sectors,
                  std::uint32_t bytes) {
    if (options_.count) log_.count_copy(counters, site, sectors, bytes);
  }
  /// Whether a phase barrier may be at the 8 bytes: their first thread to touch it writes them.
  bool may_touch_barrier(const MemoryAccess& access) { return may_access_shared(access); }

  /// The thread's tensor core may now read what the thread has written.
  void fence_async_proxy(int thread) { shadow_.fence_async_proxy(thread); }
  /// Whether a tensor core may read, for `thread`, the 16 bytes at `offset`.
  bool load_async(std::size_t offset, int thread, const CallSite& site);

 private:
  struct alignas(1024) SharedAtom {  // eight lines of a word of each bank: those of a swizzle
    std::byte bytes[1024];
  };
  struct Copy {
    MemoryAccess to;
    Bits128 value;
  };
  static constexpr std::uint32_t kAsyncLoadBytes = 16;

  template <class T>
  static T load(const MemoryAccess& access) {
    T value;
    std::memcpy(&value, access.address, sizeof value);
    return value;
  }
  template <class T>
  static void store(const MemoryAccess& access, const T& value) {
    std::memcpy(const_cast<void*>(access.address), &value, sizeof value);
  }
  template <class T>
  static T poison() {
    T value;
    std::memset(static_cast<void*>(&value), 0xff, sizeof value);
    return value;
  }

  /// Whether the access may be done.
  bool admit_shared(const MemoryAccess& access) {
    if (!may_access_shared(access)) [[unlikely]]
      return false;
    if (options_.count) log_.record(access, access.location() - shared_begin_);
    return true;
  }
  bool may_access_shared(const MemoryAccess& access) {
    const std::uintptr_t offset = access.location() - shared_begin_;
    const bool inside = is_inside(access);
    if (!inside || !access.aligned()) [[unlikely]] {
      refuse(access, inside);
      return false;
    }
    if (options_.detect) watch_shared(offset, access);
    return true;
  }
  bool admit_global(const MemoryAccess& access, bool publishes = false) {
    if (!may_access_global(access, publishes)) [[unlikely]]
      return false;
    if (options_.count) log_.record(access, last_region_->device_address(access));
    return true;
  }
  /// The region that the semaphore word orders, or null.
  const GlobalMemory::Region* admit_word(const MemoryAccess& access);
  /// Whether a load_published() may be done.
  bool admit_published(const MemoryAccess& access);
  std::size_t published_word(const MemoryAccess& access) const {
    return last_region_->offset_of(access.location()) / PublishedWords::kBytes;
  }
  void see_published(const MemoryAccess& access);
  void watch_published(const MemoryAccess& access);
  bool may_access_global(const MemoryAccess& access, bool publishes = false) {
    if (last_region_ == nullptr || !last_region_->contains(access)) {
      last_region_ = global_.find(access);
    }
    const bool inside = last_region_ != nullptr;
    const bool allowed = inside && (last_region_->writable() || !access.writes());
    if (!allowed || !access.aligned()) [[unlikely]] {
      refuse(access, inside);
      return false;
    }
    if (options_.detect) watch_global(access, publishes);
    return true;
  }

  /// The shadows of shared memory, of memory with turns, and of published words.
  template <class Visit>
  void for_each_shadow(Visit visit) {
    visit(shadow_);
    if (turns_.exist()) visit(turns_.shadow());
    if (published_.exist()) visit(published_.shadow());
  }

  void refuse(const MemoryAccess& access, bool inside);
  void watch_shared(std::size_t offset, const MemoryAccess& access);
  void watch_copy_end(std::size_t offset, const MemoryAccess& access);
  void watch_global(const MemoryAccess& access, bool publishes);
  void report(const MemoryAccess& access, const SharedShadow::Hazard& hazard);
  void report(const MemoryAccess& access, const GlobalMemory::Hazard& hazard);
  void report(const MemoryAccess& access, std::string_view verb, std::uintptr_t turn,
              const BlockTurns::Hazard& hazard);
  std::string describe(const MemoryAccess& access) const;

  Options options_;
  GlobalMemory& global_;
  FindingLog& findings_;
  GlobalMemory::Region* last_region_ = nullptr;
  std::vector<SharedAtom> shared_;
  std::uintptr_t shared_begin_;
  SharedShadow shadow_;
  BlockTurns turns_;
  PublishedWords published_;
  std::vector<InFlight<Copy>> copies_;  // by thread
  AccessLog log_;
  std::uint32_t block_index_ = 0;
};

}  // namespace sparkbench
