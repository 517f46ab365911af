// Marks the region for a profiler: ncu --profile-from-start off, nsys --capture-range
// cudaProfilerApi.
#pragma once

#include <cuda_profiler_api.h>

#include "kernels/machine/cuda_check.h"

namespace sparkbench {

/// An attached profiler records during its lifetime. Wait for launched work before the end.
class ProfiledRegion {
 public:
  ProfiledRegion() { CUDA_CHECK(cudaProfilerStart()); }
  ~ProfiledRegion() { cudaProfilerStop(); }
  ProfiledRegion(const ProfiledRegion&) = delete;
  ProfiledRegion& operator=(const ProfiledRegion&) = delete;
};

}  // namespace sparkbench
