// The chain that tests run on the emulated machine, with the arithmetic of a V100.
#pragma once

#include "kernels/launch/attention_kernel.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"

namespace sparkbench {

inline const AttentionKernel& chain() { return *find_attention_kernel("acsr-unfused"); }
inline const ArithmeticProfile& chain_profile() { return arithmetic_profile("volta"); }

}  // namespace sparkbench
