#include "harness/devices/gpu_code.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

BuildInfo build_by(const std::string& toolkit, const std::vector<std::string>& archs) {
  BuildInfo build;
  build.cuda_toolkit = toolkit;
  build.cuda_archs = archs;
  return build;
}

TEST(GpuCode, OfAV100IsByCuda12) {
  EXPECT_EQ(
      why_no_code("cuda:0", "Tesla V100-SXM2-16GB", 70, build_by("13.0.48", {"75", "80", "90"})),
      "cuda:0 is a Tesla V100-SXM2-16GB (sm_70), and this build has code for sm_75, sm_80, "
      "sm_90 alone: build anew for it with CUDA 12.9 or older, since CUDA 13.0.48, which "
      "built this, does not know sm_70: bash harness/bootstrap.sh sweep --arch 70");
}

TEST(GpuCode, IsBuiltByACudaThatKnowsIt) {
  const std::string why = why_no_code("cuda:1", "Tesla V100", 70, build_by("12.4.131", {"90"}));
  EXPECT_EQ(why,
            "cuda:1 is a Tesla V100 (sm_70), and this build has code for sm_90 alone: build anew "
            "for it: bash harness/bootstrap.sh sweep --arch 70");
}

TEST(GpuCode, OfANewerGpuNeedsNewerCuda) {
  EXPECT_NE(why_no_code("cuda:0", "B200", 100, build_by("11.8.89", {"70-real"}))
                .find("with CUDA 12.8 or newer, since CUDA 11.8.89"),
            std::string::npos);
  EXPECT_NE(why_no_code("cuda:0", "a later one", 140, build_by("13.0.48", {"70"}))
                .find("with a CUDA whose `nvcc --list-gpu-code` names sm_140"),
            std::string::npos);
}

}  // namespace
}  // namespace sparkbench
