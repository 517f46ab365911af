// Which arithmetic a GPU has: of its tensor cores, and of an instruction of its own or of others.
#pragma once

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mma_instruction.h"

namespace sparkbench {

/// Of the tensor cores of compute capability `sm`, at least 70.
const ArithmeticProfile& tensor_core_profile(int sm);

/// Of the instruction there: its tensor cores', or what the GPU does without them. Null where it
/// does not run at all.
const ArithmeticProfile* instruction_profile(MmaInstruction instruction, int sm);

}  // namespace sparkbench
