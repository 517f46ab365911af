#include "harness/devices/chip_arithmetic.h"

namespace sparkbench {

const ArithmeticProfile& tensor_core_profile(int sm) {
  if (sm < 75) return arithmetic_profile("volta");
  if (sm < 80) return arithmetic_profile("turing");
  return arithmetic_profile(sm < 90 ? "ampere" : "hopper");
}

const ArithmeticProfile* instruction_profile(MmaInstruction instruction, int sm) {
  if (is_native(instruction, sm)) return &tensor_core_profile(sm);
  const MmaInstructionTraits traits = traits_of(instruction);
  const bool is_superseded = sm > traits.last_sm;
  return is_superseded && instruction == MmaInstruction::kM8n8k4 ? &arithmetic_profile("fma884")
                                                                 : nullptr;
}

}  // namespace sparkbench
