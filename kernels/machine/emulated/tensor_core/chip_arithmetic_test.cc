#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(ChipArithmetic, IsThatOfTheGeneration) {
  EXPECT_EQ(tensor_core_profile(70).name, "volta");
  EXPECT_EQ(tensor_core_profile(72).name, "volta");
  EXPECT_EQ(tensor_core_profile(75).name, "turing");
  EXPECT_EQ(tensor_core_profile(86).name, "ampere");
  EXPECT_EQ(tensor_core_profile(90).name, "hopper");
  EXPECT_EQ(tensor_core_profile(120).name, "hopper");
}

TEST(ChipArithmetic, OfAnInstructionIsItsTensorCores) {
  EXPECT_EQ(instruction_profile(MmaInstruction::kM8n8k4, 70), &tensor_core_profile(70));
  EXPECT_EQ(instruction_profile(MmaInstruction::kM8n8k4, 75), &tensor_core_profile(75));
  EXPECT_EQ(instruction_profile(MmaInstruction::kM16n8k16, 80), &tensor_core_profile(80));
}

TEST(ChipArithmetic, OfM8n8k4FromAmpereOnIsMultiplyAdds) {
  ASSERT_NE(instruction_profile(MmaInstruction::kM8n8k4, 80), nullptr);
  EXPECT_EQ(instruction_profile(MmaInstruction::kM8n8k4, 80)->name, "fma884");
}

TEST(ChipArithmetic, HasNoInstructionOfALaterGeneration) {
  EXPECT_EQ(instruction_profile(MmaInstruction::kM16n8k16, 70), nullptr);
  EXPECT_EQ(instruction_profile(MmaInstruction::kM16n8k8, 70), nullptr);
}

}  // namespace
}  // namespace sparkbench
