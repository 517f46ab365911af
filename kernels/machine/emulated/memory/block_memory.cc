#include "kernels/machine/emulated/memory/block_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "kernels/machine/emulated/special_functions/gpu_float.h"

namespace sparkbench {
namespace {

std::string_view verb(const MemoryAccess& access) {
  if (access.kind == AccessKind::kAddGlobal) return "atomic add";
  return access.writes() ? "store" : "load";
}

bool is_shared(const MemoryAccess& access) {
  return access.kind == AccessKind::kLoadShared || access.kind == AccessKind::kStoreShared;
}

}  // namespace

BlockMemory::BlockMemory(const Options& options, GlobalMemory& global, FindingLog& findings)
    : options_(options),
      global_(global),
      findings_(findings),
      shared_((options.shared_bytes + sizeof(SharedLine) - 1) / sizeof(SharedLine)),
      shared_begin_(reinterpret_cast<std::uintptr_t>(shared_.data())),
      shadow_(options.detect ? options.shared_bytes : 0, options.warps) {}

void BlockMemory::begin_block(std::uint32_t block_index) {
  block_index_ = block_index;
  constexpr SharedLine kPoison = [] {
    SharedLine line{};
    for (std::byte& byte : line.bytes) byte = std::byte{0xff};
    return line;
  }();
  std::fill(shared_.begin(), shared_.end(), kPoison);
  shadow_.begin_block();
}

void BlockMemory::barrier() { shadow_.barrier(); }

void BlockMemory::barrier(int first_warp, int end_warp) { shadow_.barrier(first_warp, end_warp); }

void BlockMemory::sync_warp(int warp) { shadow_.sync_warp(warp); }

void BlockMemory::add_global(const MemoryAccess& access, float value) {
  if (!admit_global(access)) return;
  const std::atomic_ref<float> target(*static_cast<float*>(const_cast<void*>(access.address)));
  float before = target.load(std::memory_order_relaxed);
  float after;
  do {
    after = flush_subnormal(flush_subnormal(before) + flush_subnormal(value));
  } while (!target.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

void BlockMemory::refuse(const MemoryAccess& access, bool inside) {
  const FindingKind kind = !inside             ? FindingKind::kOutOfBounds
                           : !access.aligned() ? FindingKind::kMisaligned
                                               : FindingKind::kReadOnlyWrite;
  const std::string_view reason =
      !inside ? is_shared(access) ? "outside shared memory" : "not wholly inside one region"
      : !access.aligned() ? "not aligned to its size"
                          : "to an input";
  findings_.add(kind, access.site, access.thread, [&] {
    return FindingDetail{
        .address = describe(access),
        .message = fmt::format("{} of {} bytes {}", verb(access), access.bytes, reason)};
  });
}

void BlockMemory::watch_shared(std::size_t offset, const MemoryAccess& access) {
  const auto hazard =
      access.writes() ? shadow_.write(offset, access) : shadow_.read(offset, access);
  if (hazard) [[unlikely]]
    report(access, *hazard);
}

void BlockMemory::watch_global(const MemoryAccess& access) {
  const auto hazard = global_.check(*last_region_, access, block_index_);
  if (hazard) [[unlikely]]
    report(access, *hazard);
}

void BlockMemory::report(const MemoryAccess& access, const SharedShadow::Hazard& hazard) {
  findings_.add(hazard.kind, access.site, access.thread, [&]() -> FindingDetail {
    const std::string address = fmt::format("shared+{:#x}", hazard.offset);
    if (hazard.kind == FindingKind::kUninitializedRead) {
      return {.address = address, .message = "load of shared memory that nothing has written"};
    }
    return {
        .other_thread = *hazard.other_thread,
        .address = address,
        .message = fmt::format("{} after a {} by thread {} at line {} without a barrier between",
                               verb(access), hazard.other_writes ? "store" : "load",
                               *hazard.other_thread, hazard.other_site.line())};
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

std::string BlockMemory::describe(const MemoryAccess& access) const {
  if (!is_shared(access)) return global_.describe(access.location());
  const auto offset = static_cast<std::ptrdiff_t>(access.location() - shared_begin_);
  return offset < 0 ? fmt::format("shared-{:#x}", -offset) : fmt::format("shared+{:#x}", offset);
}

}  // namespace sparkbench
