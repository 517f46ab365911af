// The arithmetic of a GPU: of its tensor cores, and of an MMA instruction.
#pragma once

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/machine/mma_instruction.h"

namespace sparkbench {

/// For the tensor cores of compute capability `sm`, at least 70.
const ArithmeticProfile& tensor_core_profile(int sm);

/// For the instruction on that GPU: its tensor cores' arithmetic, or that of its emulation without
/// tensor cores. Null if it does not run there.
const ArithmeticProfile* instruction_profile(MmaInstruction instruction, int sm);

}  // namespace sparkbench
