// One lane's access of memory, as the detectors and the counters see it.
#pragma once

#include <cstdint>

#include "kernels/machine/emulated/report/call_site.h"

namespace sparkbench {

inline constexpr int kWarpLanes = 32;

enum class AccessKind : std::uint32_t {
  kLoadShared,
  kLoadForTensorCore,  // of shared memory, through the async proxy
  kStoreShared,
  kCopyToShared,  // asynchronously: what the copy's end writes
  kLoadGlobal,
  kStoreGlobal,
  kAddGlobal,
};

struct MemoryAccess {
  AccessKind kind;
  std::uint32_t bytes;  // 4, 8 or 16
  const void* address;
  int thread;  // in the block
  CallSite site;

  int lane() const { return thread % kWarpLanes; }
  std::uintptr_t location() const { return reinterpret_cast<std::uintptr_t>(address); }
  bool shared() const { return kind <= AccessKind::kCopyToShared; }
  bool aligned() const { return location() % bytes == 0; }
  bool writes() const {
    return kind != AccessKind::kLoadShared && kind != AccessKind::kLoadForTensorCore &&
           kind != AccessKind::kLoadGlobal;
  }
};

}  // namespace sparkbench
