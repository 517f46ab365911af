// What the GPU tests of the Hopper kernels share: where they run.
#pragma once

#include <gtest/gtest.h>

#include "kernels/launch/run_gpu.h"
#include "kernels/registry.h"
#include "kernels/testing/test_gpu.h"

namespace sparkbench::hopper {

/// Skips where there is no GPU with wgmma; fails where the build has no code for it.
template <class Parameter>
class OnHopper : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
    if (!has_native(MmaInstruction::kWgmma)) GTEST_SKIP() << "no CUDA device with wgmma";
    ASSERT_TRUE(find_attention_kernel("hopper-fp32acc")->has_gpu_code)
        << "this build has no code for sm_90a";
  }
};

}  // namespace sparkbench::hopper
