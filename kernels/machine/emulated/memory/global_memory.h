// The global memory that a launch may touch: named regions of the host's memory, and for each word
// of a writable one who wrote it last.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/report/finding.h"

namespace sparkbench {

/// The memory of one tensor, or of several that overlap (tensor_region.h). `base` is aligned to 4
/// bytes. An input is written before the launch, an output by it; memory that the launch adds to,
/// after the host has zeroed it, is both.
struct GlobalRegion {
  std::string name;
  void* base;
  std::size_t bytes;
  bool written_before;
  bool writable = !written_before;
  std::vector<bool> exists = {};  // by word of 4 bytes, where not all do; the rest is out of bounds
  /// Not null: blocks use its bytes in turns, bytes_of_turn at a time, ordered by these words
  /// (machine.h). The words are a region of their own, which nothing else touches.
  const std::uint32_t* turns = nullptr;
  std::size_t bytes_of_turn = 0;
  bool adds_in_any_order = false;  // of a turn's threads to the same word
  bool is_published = false;       // words of 8 bytes that blocks publish for others
};

inline constexpr std::size_t kGlobalWordBytes = 4;

/// A thread of the grid; blocks are counted x fastest.
struct GridThread {
  std::uint32_t block_index;
  int thread;
};

/// Safe to use from every worker at once.
class GlobalMemory {
 public:
  class Region;

  /// Why an access is wrong, and who wrote the word before, if that is known.
  struct Hazard {
    FindingKind kind;  // kGlobalRace or kUninitializedRead
    std::uintptr_t address;
    std::optional<GridThread> writer;
  };

  /// `detect`: whether check() will be called. Throws std::invalid_argument for a misaligned base
  /// and for regions that overlap.
  GlobalMemory(std::span<const GlobalRegion> regions, int threads_per_block, bool detect);

  /// The region that holds all of the access, or null.
  Region* find(const MemoryAccess& access);

  /// The region that a turn word orders, or null.
  const Region* find_turned(const std::uint32_t* word) const;
  /// The region that has turns, or null; there is one at most.
  const Region* turned() const;
  /// The region that blocks publish, or null; there is one at most.
  const Region* published() const;

  /// The first hazard of an access that lies in `region`, which then happens.
  /// Races are: a store over another thread's store or over an atomic, an atomic over another
  /// thread's store, and a load of what another block, or an atomic, has written in this launch.
  std::optional<Hazard> check(Region& region, const MemoryAccess& access,
                              std::uint32_t block_index) const;

  /// "global q+0x40", by the last region that starts at or before the address.
  std::string describe(std::uintptr_t address) const;

 private:
  bool races(AccessKind kind, std::uint32_t writer, std::uint32_t self) const;
  std::optional<GridThread> grid_thread(std::uint32_t writer) const;

  std::vector<Region> regions_;  // ascending
  std::uint32_t threads_per_block_;
};

class GlobalMemory::Region {
 public:
  Region(const GlobalRegion& region, bool detect);

  /// The address that the access would have on a GPU, so that counts do not depend on the host's
  /// allocator.
  std::uintptr_t device_address(const MemoryAccess& access) const {
    return access.location() - begin_ + device_begin_;
  }

  bool contains(const MemoryAccess& access) const {
    const std::uintptr_t offset = access.location() - begin_;
    return offset < bytes_ && bytes_ - offset >= access.bytes &&
           (exists_.empty() || words_exist(offset, access.bytes));
  }
  bool writable() const { return writable_; }
  bool has_turns() const { return bytes_of_turn_ > 0; }
  bool is_published() const { return is_published_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t offset_of(std::uintptr_t address) const { return address - begin_; }
  std::size_t bytes_of_turn() const { return bytes_of_turn_; }
  bool adds_in_any_order() const { return adds_in_any_order_; }
  std::size_t turn_count() const { return has_turns() ? bytes_ / bytes_of_turn_ : 0; }
  /// The turn that an address belongs to, and the offset in it.
  std::size_t turn_at(std::uintptr_t address) const { return (address - begin_) / bytes_of_turn_; }
  std::size_t offset_in_turn(std::uintptr_t address) const {
    return (address - begin_) % bytes_of_turn_;
  }
  /// The turn that a word orders.
  std::size_t turn_of(const std::uint32_t* word) const {
    return static_cast<std::size_t>(word - turns_);
  }
  std::uintptr_t address_of_turn(std::size_t turn) const { return begin_ + turn * bytes_of_turn_; }
  const std::string& name() const { return name_; }

 private:
  friend class GlobalMemory;

  bool words_exist(std::size_t offset, std::size_t bytes) const;

  /// Makes the access of thread `self` the word's last, and returns who wrote the word before.
  std::uint32_t touch(std::uintptr_t address, AccessKind kind, std::uint32_t self);

  std::string name_;
  std::uintptr_t begin_;
  std::uintptr_t device_begin_ = 0;
  std::size_t bytes_;
  bool written_before_;
  bool writable_;
  std::vector<bool> exists_;
  const std::uint32_t* turns_;
  std::size_t bytes_of_turn_;
  bool adds_in_any_order_;
  bool is_published_;
  std::vector<std::atomic<std::uint32_t>> writers_;  // by word; 0 nobody, else see global_memory.cc
};

}  // namespace sparkbench
