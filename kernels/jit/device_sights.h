// Lets the current GPU tell how tiles see a pattern with a predicate, by code that is compiled for
// it. The lists are those that the host makes of one predicate; of a union of several atoms a tile
// is full, too, where no atom alone fills it.
#pragma once

#include <memory>
#include <string>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {

/// Of a pattern's code on a device.
struct JitReport {
  bool is_used = false;
  std::string why_not;  // where it is not: the host tells then
  /// Where it is: what the first call of this process took until it could ask, and whether the code
  /// came from disk or was compiled.
  double first_call_ms = 0.0;
  bool is_from_disk = false;
  std::string compiler;  // "NVRTC 12.4, libnvrtc.so.12"
  std::string note;      // why the code is not kept on disk; "" where it is
};

struct SightedMask {
  std::shared_ptr<const SparseMask> mask;  // as it was given where the device is not used
  JitReport report;
};

/// `mask` is not null. The device is not used for patterns without a predicate, where there is no
/// NVRTC, where SPARKBENCH_JIT is "off", and in a build without CUDA. Throws as CUDA_CHECK does,
/// and std::runtime_error where the compiler refuses the code.
SightedMask with_device_sights(const std::shared_ptr<const SparseMask>& mask);

}  // namespace sparkbench
