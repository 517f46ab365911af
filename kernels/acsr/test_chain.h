// The chains that tests run on the emulated machine, each with the arithmetic of its GPU.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "kernels/launch/attention_kernel.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"

namespace sparkbench {

struct ChainUnderTest {
  const AttentionKernel& kernel;
  const ArithmeticProfile& profile;
};

inline ChainUnderTest chain_of(std::string_view instruction) {
  if (instruction == "wgmma") {
    return {*find_attention_kernel("acsr-unfused-hopper"), arithmetic_profile("hopper")};
  }
  return {*find_attention_kernel("acsr-unfused"), arithmetic_profile("volta")};
}

/// Tests of what every chain does, by the instruction of its products.
class EachChain : public testing::TestWithParam<const char*> {
 protected:
  static ChainUnderTest chain() { return chain_of(GetParam()); }
};

inline const auto kEachChain = testing::Values("m8n8k4", "wgmma");

}  // namespace sparkbench
