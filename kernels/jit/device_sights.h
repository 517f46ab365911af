// Device block mask: the current GPU tells which tiles of a pattern with a predicate are full,
// partial or empty, by code that is compiled for it. For one predicate the lists are those that the
// host makes. For a union of several atoms a tile is also full if only the atoms together fill it.
#pragma once

#include <memory>
#include <string>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {

/// How a pattern's code came to a device.
struct JitReport {
  bool is_used = false;
  std::string why_not;  // if it is not: the host evaluates the mask
  /// If it is: how long the first call of this process took until it could ask, and whether the
  /// code came from disk or was compiled.
  double first_call_ms = 0.0;
  bool is_from_disk = false;
  std::string compiler;  // "NVRTC 12.4, libnvrtc.so.12"
  std::string note;      // why the code is not kept on disk; "" if it is
};

struct SightedMask {
  std::shared_ptr<const SparseMask> mask;  // unchanged if the device is not used
  JitReport report;
};

/// `mask` is not null. The device is not used for patterns without a predicate, where there is no
/// NVRTC, where SPARKBENCH_JIT is "off", and in a build without CUDA. Throws as CUDA_CHECK does,
/// and std::runtime_error where the compiler refuses the code.
SightedMask with_device_sights(const std::shared_ptr<const SparseMask>& mask);

}  // namespace sparkbench
