#include "kernels/machine/emulated/memory/global_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace sparkbench {
namespace {

// A word's writer is nobody, atomics, or a thread of the grid counted from 1.
constexpr std::uint32_t kNobody = 0;
constexpr std::uint32_t kAtomics = std::numeric_limits<std::uint32_t>::max();

// The alignment of cudaMalloc (CUDA C++ Programming Guide, "Device Memory Accesses").
constexpr std::size_t kDeviceAlignmentBytes = 256;

}  // namespace

GlobalMemory::Region::Region(const GlobalRegion& region, bool detect)
    : name_(region.name),
      begin_(reinterpret_cast<std::uintptr_t>(region.base)),
      bytes_(region.bytes),
      written_before_(region.written_before),
      writable_(region.writable),
      exists_(region.exists),
      turns_(region.turns),
      bytes_of_turn_(region.turns == nullptr ? 0 : region.bytes_of_turn),
      adds_in_any_order_(region.adds_in_any_order),
      is_published_(region.is_published),
      writers_(detect && region.writable && region.turns == nullptr
                   ? (region.bytes + kGlobalWordBytes - 1) / kGlobalWordBytes
                   : 0) {
  if (begin_ % kGlobalWordBytes != 0) {
    throw std::invalid_argument(fmt::format("region {} is not aligned to 4 bytes", name_));
  }
  if (!exists_.empty() && exists_.size() * kGlobalWordBytes < bytes_) {
    throw std::invalid_argument(fmt::format("region {} has more words than it tells of", name_));
  }
}

bool GlobalMemory::Region::words_exist(std::size_t offset, std::size_t bytes) const {
  for (std::size_t word = offset / kGlobalWordBytes;
       word <= (offset + bytes - 1) / kGlobalWordBytes; ++word) {
    if (!exists_[word]) return false;
  }
  return true;
}

std::uint32_t GlobalMemory::Region::touch(std::uintptr_t address, AccessKind kind,
                                          std::uint32_t self) {
  if (writers_.empty()) return kNobody;
  std::atomic<std::uint32_t>& writer = writers_[(address - begin_) / kGlobalWordBytes];
  switch (kind) {
    case AccessKind::kStoreGlobal:
      return writer.exchange(self, std::memory_order_relaxed);
    case AccessKind::kAddGlobal:
      return writer.exchange(kAtomics, std::memory_order_relaxed);
    default:
      return writer.load(std::memory_order_relaxed);
  }
}

GlobalMemory::GlobalMemory(std::span<const GlobalRegion> regions, int threads_per_block,
                           bool detect)
    : threads_per_block_(static_cast<std::uint32_t>(threads_per_block)) {
  for (const GlobalRegion& region : regions) regions_.emplace_back(region, detect);
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& a, const Region& b) { return a.begin_ < b.begin_; });
  const auto overlap = std::adjacent_find(
      regions_.begin(), regions_.end(),
      [](const Region& a, const Region& b) { return b.begin_ - a.begin_ < a.bytes_; });
  if (overlap != regions_.end()) {
    throw std::invalid_argument(
        fmt::format("regions {} and {} overlap", overlap->name_, std::next(overlap)->name_));
  }
  std::uintptr_t device_begin = kDeviceAlignmentBytes;
  for (Region& region : regions_) {
    region.device_begin_ = device_begin;
    device_begin += (region.bytes_ / kDeviceAlignmentBytes + 1) * kDeviceAlignmentBytes;
  }
}

GlobalMemory::Region* GlobalMemory::find(const MemoryAccess& access) {
  const auto region = std::find_if(regions_.begin(), regions_.end(),
                                   [&](const Region& r) { return r.contains(access); });
  return region == regions_.end() ? nullptr : &*region;
}

const GlobalMemory::Region* GlobalMemory::turned() const {
  const auto region =
      std::find_if(regions_.begin(), regions_.end(), [](const Region& r) { return r.has_turns(); });
  return region == regions_.end() ? nullptr : &*region;
}

const GlobalMemory::Region* GlobalMemory::published() const {
  const auto region = std::find_if(regions_.begin(), regions_.end(),
                                   [](const Region& r) { return r.is_published(); });
  return region == regions_.end() ? nullptr : &*region;
}

const GlobalMemory::Region* GlobalMemory::find_turned(const std::uint32_t* word) const {
  const Region* const region = turned();
  const bool tells =
      region != nullptr && word >= region->turns_ && word < region->turns_ + region->turn_count();
  return tells ? region : nullptr;
}

std::optional<GlobalMemory::Hazard> GlobalMemory::check(Region& region, const MemoryAccess& access,
                                                        std::uint32_t block_index) const {
  const std::uint32_t self =
      block_index * threads_per_block_ + static_cast<std::uint32_t>(access.thread) + 1;
  const bool needs_writer = !region.written_before_ && access.kind != AccessKind::kStoreGlobal;
  std::optional<Hazard> hazard;
  for (std::uintptr_t word = 0; word < access.bytes; word += kGlobalWordBytes) {
    const std::uintptr_t address = access.location() + word;
    const std::uint32_t writer = region.touch(address, access.kind, self);
    if (hazard) continue;
    if (races(access.kind, writer, self)) {
      hazard = {FindingKind::kGlobalRace, address, grid_thread(writer)};
    } else if (needs_writer && writer == kNobody) {
      hazard = {FindingKind::kUninitializedRead, address, std::nullopt};
    }
  }
  return hazard;
}

bool GlobalMemory::races(AccessKind kind, std::uint32_t writer, std::uint32_t self) const {
  if (writer == kNobody || writer == self) return false;
  if (kind == AccessKind::kAddGlobal) return writer != kAtomics;
  if (kind == AccessKind::kStoreGlobal) return true;
  return writer == kAtomics || (writer - 1) / threads_per_block_ != (self - 1) / threads_per_block_;
}

std::optional<GridThread> GlobalMemory::grid_thread(std::uint32_t writer) const {
  if (writer == kNobody || writer == kAtomics) return std::nullopt;
  return GridThread{(writer - 1) / threads_per_block_,
                    static_cast<int>((writer - 1) % threads_per_block_)};
}

std::string GlobalMemory::describe(std::uintptr_t address) const {
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](std::uintptr_t a, const Region& region) { return a < region.begin_; });
  if (after == regions_.begin()) return fmt::format("global {:#x}", address);
  const Region& region = *std::prev(after);
  return fmt::format("global {}+{:#x}", region.name_, address - region.begin_);
}

}  // namespace sparkbench
