// Every fused kernel there is. A folder of kernels is one line of registry.cc.
#pragma once

#include <span>
#include <string_view>

#include "kernels/launch/attention_kernel.h"

namespace sparkbench {

/// In the order in which they are listed and swept.
std::span<const AttentionKernel> attention_kernels();

/// Null when there is none of that name.
const AttentionKernel* find_attention_kernel(std::string_view name);

/// Everything that a build for a GPU compiles of them.
std::span<const KernelInstance> kernel_instances();

/// Null for a function that is no instance.
const KernelInstance* find_kernel_instance(std::string_view symbol);

}  // namespace sparkbench
