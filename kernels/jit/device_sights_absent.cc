// A build without CUDA.
#include "kernels/jit/device_sights.h"

namespace sparkbench {

SightedMask with_device_sights(const std::shared_ptr<const SparseMask>& mask) {
  return {mask, {.why_not = "this build has no GPU path"}};
}

}  // namespace sparkbench
