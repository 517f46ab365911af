#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"

namespace sparkbench {

const ArithmeticProfile& tensor_core_profile(int sm) {
  const ArithmeticProfile* newest = &arithmetic_profiles().front();
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    if (profile.first_sm <= sm && profile.first_sm > newest->first_sm) newest = &profile;
  }
  return *newest;
}

const ArithmeticProfile* instruction_profile(MmaInstruction instruction, int sm) {
  if (is_native(instruction, sm)) return &tensor_core_profile(sm);
  const MmaInstructionTraits traits = traits_of(instruction);
  const bool is_superseded = sm > traits.last_sm;
  return is_superseded && instruction == MmaInstruction::kM8n8k4 ? &arithmetic_profile("fma884")
                                                                 : nullptr;
}

}  // namespace sparkbench
