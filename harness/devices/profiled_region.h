// Marks what a profiler is to see: ncu --profile-from-start off, nsys --capture-range
// cudaProfilerApi.
#pragma once

#include <cuda_profiler_api.h>

#include "kernels/machine/cuda_check.h"

namespace sparkbench {

/// While it lives, an attached profiler records. Whoever launched work waits for it before the end.
class ProfiledRegion {
 public:
  ProfiledRegion() { CUDA_CHECK(cudaProfilerStart()); }
  ~ProfiledRegion() { cudaProfilerStop(); }
  ProfiledRegion(const ProfiledRegion&) = delete;
  ProfiledRegion& operator=(const ProfiledRegion&) = delete;
};

}  // namespace sparkbench
