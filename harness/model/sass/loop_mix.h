// What one pass of a loop issues, and what share of the tensor cores' peak each resource of an SM
// would allow it if everything overlapped perfectly.
#pragma once

#include <array>
#include <span>

#include "harness/model/sass/instruction_class.h"

namespace sparkbench {

/// What a warp issues in one iteration.
struct LoopMix {
  std::array<int, kInstructionClasses> counts = {};
  int instructions = 0;
  double mma = 0.0;  // m8n8k4: 2048 FLOP each
  int lsu_wavefronts = 0;
  int narrow_shared_accesses = 0;  // under 64 bits a lane
  int data_shuffles = 0;           // all but those whose value goes to a maximum only

  int count(InstructionClass value) const { return counts[static_cast<std::size_t>(value)]; }
};

/// `path` lists the pass's instructions in the order in which they are executed.
LoopMix count_mix(const SassFunction& function, std::span<const int> path);

/// Tensor cycles over a resource's cycles, each of the same work; infinite for a resource that the
/// loop leaves alone. A sub-partition's tensor cores take 8 cycles for an mma, and issue one
/// instruction a cycle; the load-store unit serves four sub-partitions, 2 cycles for their mma
/// each.
struct LoopCaps {
  double issue, lsu, xu, fp32, alu;
  double tensor_port;  // shared with FP16 and FP64: at most 1
};

/// `mix` has some tensor work.
LoopCaps caps_of(const LoopMix& mix);

}  // namespace sparkbench
