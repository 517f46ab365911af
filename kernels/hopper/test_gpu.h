// What the GPU tests of the Hopper kernels share: where they run.
#pragma once

#include <gtest/gtest.h>

#include "kernels/launch/run_gpu.h"
#include "kernels/machine/tensor_copy/tensor_map_gpu.h"
#include "kernels/registry.h"
#include "kernels/testing/test_gpu.h"

namespace sparkbench::hopper {

/// To be given tensors.
inline PlanRequest request_on_gpu(const Problem& problem) {
  PlanRequest request{problem, 0};
  request.sms = sms_of_gpu();
  request.encode_map = encode_tensor_map;
  return request;
}

/// Skips where there is no GPU with wgmma; fails where the build has no code for it.
template <class Parameter>
class OnHopper : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
    if (!has_native(MmaInstruction::kWgmma)) GTEST_SKIP() << "no CUDA device with wgmma";
    const AttentionKernel& kernel = *find_attention_kernel("hopper-fp32acc");
    ASSERT_NE(kernel.forward.launch, nullptr) << "this build has no code for sm_90a";
    ASSERT_NE(kernel.backward.launch, nullptr) << "this build has no code for sm_90a";
  }
};

}  // namespace sparkbench::hopper
