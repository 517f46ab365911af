// The tensor-core instructions that kernels are made of, and which GPUs have them.
#pragma once

#include <string_view>

namespace sparkbench {

enum class MmaInstruction { kM8n8k4, kM16n8k8, kM16n8k16, kWgmma };

struct MmaInstructionTraits {
  std::string_view name;
  int first_sm, last_sm;  // compute capabilities (70, 75, ...) whose tensor cores have it
  /// Code of the warning that GPUs after last_sm run the instruction on CUDA cores; empty: none.
  std::string_view warning_code;
};

/// PTX ISA, section "mma": m8n8k4 in fp16 is for sm_70 and "may have substantially reduced
/// performance on other target architectures". wgmma is for sm_90a only. An instruction that later
/// GPUs still have has no last_sm.
constexpr MmaInstructionTraits traits_of(MmaInstruction instruction) {
  constexpr int kNoLast = 1 << 30;
  switch (instruction) {
    case MmaInstruction::kM8n8k4:
      return {"m8n8k4", 70, 79, "W-MMA884-EMULATED"};
    case MmaInstruction::kM16n8k8:
      return {"m16n8k8", 75, kNoLast, ""};
    case MmaInstruction::kM16n8k16:
      return {"m16n8k16", 80, kNoLast, ""};
    case MmaInstruction::kWgmma:
      return {"wgmma", 90, 90, ""};
  }
  return {};
}

/// Whether the tensor cores of compute capability `sm` have it.
constexpr bool is_native(MmaInstruction instruction, int sm) {
  const MmaInstructionTraits traits = traits_of(instruction);
  return sm >= traits.first_sm && sm <= traits.last_sm;
}

/// Whether kernels of it are compiled for compute capability `sm`: where tensor cores have it, and
/// on later ones if CUDA cores compute it there.
constexpr bool is_compiled_for(MmaInstruction instruction, int sm) {
  const MmaInstructionTraits traits = traits_of(instruction);
  return is_native(instruction, sm) || (sm > traits.last_sm && !traits.warning_code.empty());
}

}  // namespace sparkbench
