// Emulation options for the tests of any kernel.
#pragma once

#include <cstddef>

#include "kernels/launch/attention_kernel.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"

namespace sparkbench {

/// On the first chip that has the kernel's instruction, or with the arithmetic that a GPU has.
inline EmulationOptions options_of(const AttentionKernel& kernel,
                                   const ArithmeticProfile* native = nullptr) {
  EmulationOptions options{.profile = &tensor_core_profile(traits_of(kernel.instruction).first_sm)};
  if (kernel.instruction == MmaInstruction::kWgmma) {
    options.shared_bytes_per_block = std::size_t{227} << 10;
  }
  if (native != nullptr) options.profile = native;
  return options;
}

}  // namespace sparkbench
