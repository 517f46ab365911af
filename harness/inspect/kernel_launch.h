// How the program launches a kernel: what the machine code does not say.
#pragma once

#include <optional>

#include "harness/inspect/kernel_instance.h"

namespace sparkbench {

struct KernelLaunch {
  int threads;  // of a block
  int dynamic_shared_bytes;
  int block_rows;    // of the score matrix that a block owns: queries, or keys of a "bwd"
  int step_columns;  // over which it goes at a time: keys, or queries of a "bwd"
};

/// Nothing for an instance that this program does not launch.
std::optional<KernelLaunch> launch_of(const KernelInstance& instance);

}  // namespace sparkbench
