#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

TEST(ArithmeticProfile, IsFoundByItsOwnName) {
  ASSERT_EQ(arithmetic_profiles().size(), 5u);
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    EXPECT_EQ(&arithmetic_profile(profile.name), &profile);
  }
}

TEST(ArithmeticProfile, RefusesAnUnknownNameNamingTheAllowed) {
  try {
    arithmetic_profile("pascal");
    FAIL() << "expected std::invalid_argument";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "unknown arithmetic profile 'pascal': allowed are volta, turing, ampere, hopper, "
              "fma884");
  }
}

TEST(ArithmeticProfile, HasAnInstructionThatFillsItsBlock) {
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    const bool filled = (profile.block_length == 4 && profile.has_m8n8k4) ||
                        (profile.block_length == 8 && profile.has_m16n8k8) ||
                        (profile.block_length == 16 && profile.has_m16n8k16);
    EXPECT_TRUE(filled) << profile.name;
  }
}

}  // namespace
}  // namespace sparkbench
