#include "kernels/machine/emulated/memory/block_memory.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <string_view>

#include "kernels/machine/emulated/special_functions/gpu_float.h"

namespace sparkbench {
namespace {

std::string_view verb(const MemoryAccess& access) {
  if (access.kind == AccessKind::kAddGlobal) return "atomic add";
  if (access.kind == AccessKind::kCopyToShared) return "asynchronous copy";
  if (access.kind == AccessKind::kLoadForTensorCore) return "load by a tensor core";
  return access.writes() ? "store" : "load";
}

/// Between an access of shared memory and an earlier one of another thread.
std::string_view what_misses(FindingKind kind) {
  switch (kind) {
    case FindingKind::kUninitializedRead:
      return "that is a copy which has not been waited for";
    case FindingKind::kMissingProxyFence:
      return "without a fence_async_proxy() of that thread between";
    default:
      return "without a barrier between";
  }
}

BlockTurns make_turns(const BlockMemory::Options& options, const GlobalMemory& global) {
  const GlobalMemory::Region* const region = options.detect ? global.turned() : nullptr;
  if (region == nullptr) return {0, 0, options.warps, false};
  return {region->turn_count(), region->bytes_of_turn(), options.warps,
          region->adds_in_any_order()};
}

std::size_t published_words(const BlockMemory::Options& options, const GlobalMemory& global) {
  const GlobalMemory::Region* const region = options.detect ? global.published() : nullptr;
  return region == nullptr ? 0 : region->bytes() / PublishedWords::kBytes;
}

}  // namespace

BlockMemory::BlockMemory(const Options& options, GlobalMemory& global, FindingLog& findings)
    : options_(options),
      global_(global),
      findings_(findings),
      shared_((options.shared_bytes + sizeof(SharedAtom) - 1) / sizeof(SharedAtom)),
      shared_begin_(reinterpret_cast<std::uintptr_t>(shared_.data())),
      shadow_(options.detect ? options.shared_bytes : 0, options.warps),
      turns_(make_turns(options, global)),
      published_(published_words(options, global), options.warps),
      copies_(static_cast<std::size_t>(options.warps * kWarpLanes)) {}

void BlockMemory::begin_block(std::uint32_t block_index) {
  block_index_ = block_index;
  std::memset(shared_.data(), 0xff, shared_.size() * sizeof(SharedAtom));
  shadow_.begin_block();
  if (turns_.exist()) turns_.begin_block();
  if (published_.exist()) published_.begin_block();
  for (auto& copies : copies_) copies.forget();
}

void BlockMemory::barrier() {
  for_each_shadow([](SharedShadow& shadow) { shadow.barrier(); });
}

void BlockMemory::barrier(int first_warp, int end_warp) {
  for_each_shadow([&](SharedShadow& shadow) { shadow.barrier(first_warp, end_warp); });
}

void BlockMemory::sync_warp(int warp) {
  for_each_shadow([&](SharedShadow& shadow) { shadow.sync_warp(warp); });
}

void BlockMemory::arrive_at_barrier(int id, int warp) {
  for_each_shadow([&](SharedShadow& shadow) { shadow.arrive_at_barrier(id, warp); });
}

void BlockMemory::complete_barrier(int id, std::uint32_t waiting_warps) {
  for_each_shadow([&](SharedShadow& shadow) { shadow.complete_barrier(id, waiting_warps); });
}

void BlockMemory::copy_async(const MemoryAccess& to, const MemoryAccess& from, bool exists) {
  const Bits128 value = exists ? load_global<Bits128>(from) : Bits128{};
  if (!admit_shared(to)) return;
  store(to, poison<Bits128>());
  copies_[static_cast<std::size_t>(to.thread)].start({to, value});
}

void BlockMemory::wait_for_copies(int thread, int pending) {
  copies_[static_cast<std::size_t>(thread)].end_groups(
      static_cast<std::size_t>(pending), [&](const Copy& copy) {
        if (options_.detect) watch_copy_end(copy.to.location() - shared_begin_, copy.to);
        store(copy.to, copy.value);
      });
}

bool BlockMemory::start_chunk(const MemoryAccess& to) {
  if (!may_access_shared(to)) return false;
  store(to, poison<Bits128>());
  return true;
}

void BlockMemory::end_chunk(const MemoryAccess& to, const MemoryAccess& from, bool exists,
                            std::uint32_t start_time) {
  Bits128 value{};
  if (exists) value = may_access_global(from) ? load<Bits128>(from) : poison<Bits128>();
  if (options_.detect) {
    const auto hazard = shadow_.end_copy(to.location() - shared_begin_, to, start_time);
    if (hazard) [[unlikely]]
      report(to, *hazard);
  }
  store(to, value);
}

bool BlockMemory::load_async(std::size_t offset, int thread, const CallSite& site) {
  const MemoryAccess access{AccessKind::kLoadForTensorCore, kAsyncLoadBytes, bytes() + offset,
                            thread, site};
  const bool inside =
      offset < options_.shared_bytes && options_.shared_bytes - offset >= access.bytes;
  if (!inside) [[unlikely]] {
    refuse(access, inside);
  } else if (options_.detect) {
    watch_shared(offset, access);
  }
  return inside;
}

void BlockMemory::add_global(const MemoryAccess& access, std::span<const float> values) {
  if (!admit_global(access)) return;
  auto* address = static_cast<float*>(const_cast<void*>(access.address));
  for (const float value : values) {
    const std::atomic_ref<float> target(*address++);
    float before = target.load(std::memory_order_relaxed);
    float after;
    do {
      after = flush_subnormal(flush_subnormal(before) + flush_subnormal(value));
    } while (!target.compare_exchange_weak(before, after, std::memory_order_relaxed));
  }
}

void BlockMemory::refuse(const MemoryAccess& access, bool inside) {
  const FindingKind kind = !inside             ? FindingKind::kOutOfBounds
                           : !access.aligned() ? FindingKind::kMisaligned
                                               : FindingKind::kReadOnlyWrite;
  const std::string_view reason =
      !inside ? access.shared() ? "outside shared memory" : "not wholly inside one region"
      : !access.aligned() ? "not aligned to its size"
                          : "to an input";
  findings_.add(kind, access.site, access.thread, [&] {
    return FindingDetail{
        .address = describe(access),
        .message = fmt::format("{} of {} bytes {}", verb(access), access.bytes, reason)};
  });
}

void BlockMemory::watch_shared(std::size_t offset, const MemoryAccess& access) {
  const auto hazard = access.kind == AccessKind::kCopyToShared ? shadow_.start_copy(offset, access)
                      : access.writes()                        ? shadow_.write(offset, access)
                                                               : shadow_.read(offset, access);
  if (hazard) [[unlikely]]
    report(access, *hazard);
}

void BlockMemory::watch_copy_end(std::size_t offset, const MemoryAccess& access) {
  const auto hazard = shadow_.write(offset, access);
  if (hazard) [[unlikely]]
    report(access, *hazard);
}

void BlockMemory::watch_global(const MemoryAccess& access, bool publishes) {
  if (last_region_->is_published() && !publishes) [[unlikely]] {
    findings_.add(FindingKind::kGlobalRace, access.site, access.thread, [&]() -> FindingDetail {
      return {.address = global_.describe(access.location()),
              .message = fmt::format("{} of a word that blocks publish, which orders nothing",
                                     verb(access))};
    });
    return;
  }
  if (last_region_->has_turns()) {
    const std::size_t turn = last_region_->turn_at(access.location());
    const auto hazard = turns_.touch(turn, last_region_->offset_in_turn(access.location()), access);
    if (hazard) [[unlikely]]
      report(access, verb(access), last_region_->address_of_turn(turn), *hazard);
    return;
  }
  const auto hazard = global_.check(*last_region_, access, block_index_);
  if (hazard) [[unlikely]]
    report(access, *hazard);
}

void BlockMemory::report(const MemoryAccess& access, const SharedShadow::Hazard& hazard) {
  findings_.add(hazard.kind, access.site, access.thread, [&]() -> FindingDetail {
    const std::string address = fmt::format("shared+{:#x}", hazard.offset);
    if (!hazard.other_thread) {
      return {.address = address, .message = "load of shared memory that nothing has written"};
    }
    return {.other_thread = *hazard.other_thread,
            .address = address,
            .message = fmt::format("{} after a {} by thread {} at line {} {}", verb(access),
                                   hazard.other_writes ? "store" : "load", *hazard.other_thread,
                                   hazard.other_site.line(), what_misses(hazard.kind))};
  });
}

void BlockMemory::report(const MemoryAccess& access, const GlobalMemory::Hazard& hazard) {
  findings_.add(hazard.kind, access.site, access.thread, [&]() -> FindingDetail {
    const std::string address = global_.describe(hazard.address);
    if (hazard.kind == FindingKind::kUninitializedRead) {
      return {.address = address, .message = "load of global memory that nothing has written"};
    }
    if (!hazard.writer) {
      return {.address = address, .message = fmt::format("{} after an atomic add", verb(access))};
    }
    return {
        .other_thread = hazard.writer->thread,
        .address = address,
        .message = fmt::format("{} after a store by thread {} of the grid's block {}", verb(access),
                               hazard.writer->thread, hazard.writer->block_index)};
  });
}

void BlockMemory::report(const MemoryAccess& access, std::string_view verb, std::uintptr_t turn,
                         const BlockTurns::Hazard& hazard) {
  findings_.add(FindingKind::kGlobalRace, access.site, access.thread, [&]() -> FindingDetail {
    const std::string address = global_.describe(turn + hazard.offset);
    if (!hazard.earlier) {
      return {.address = address, .message = fmt::format("{} outside the block's turn", verb)};
    }
    return {.other_thread = *hazard.earlier->other_thread,
            .address = address,
            .message = fmt::format("{} after what thread {} of the block did at line {} {}", verb,
                                   *hazard.earlier->other_thread, hazard.earlier->other_site.line(),
                                   what_misses(FindingKind::kSharedRace))};
  });
}

std::string BlockMemory::describe(const MemoryAccess& access) const {
  if (!access.shared()) return global_.describe(access.location());
  const auto offset = static_cast<std::ptrdiff_t>(access.location() - shared_begin_);
  return offset < 0 ? fmt::format("shared-{:#x}", -offset) : fmt::format("shared+{:#x}", offset);
}

}  // namespace sparkbench
