// All that is known of a kernel from its machine code and from how it is launched.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/sass/code_gates.h"
#include "harness/model/sass/kernel_resources.h"
#include "harness/model/sass/loop_mix.h"
#include "harness/model/sass/occupancy.h"
#include "harness/model/sass/sass_listing.h"
#include "kernels/launch/kernel_instance.h"

namespace sparkbench {

struct LoopInspection {
  std::uint32_t first_address, last_address;
  std::uint32_t end_address;  // behind the last instruction
  int instructions;           // of all paths; mix.instructions is one pass's
  LoopMix mix;
  LoopCaps caps;
  int masks;                      // mask code in a pass
  std::optional<double> scores;   // that a warp computes in a pass
  std::optional<double> columns;  // by which the block moves in a pass: keys, or queries of a "bwd"
};

struct KernelInspection {
  std::string name;      // the instance's id, or the function's name without namespaces
  std::string symbol;    // as the machine code has it
  std::string function;  // demangled
  int sm;
  std::optional<KernelInstance> instance;  // absent for a kernel that is not ours
  KernelResources resources;
  std::optional<Occupancy> occupancy;  // of an instance
  int instructions;
  int local_accesses;  // loads and stores of local memory
  int tensor_instructions;
  int masks;                          // mask code anywhere in the kernel
  std::vector<LoopInspection> loops;  // those with tensor instructions, main loop first
  std::vector<GateResult> gates;      // of a kernel with such a loop

  const LoopInspection* main_loop() const { return loops.empty() ? nullptr : &loops.front(); }
};

/// Loops and gates are read from code of kModelledSm only; other machine code gets a plain report.
KernelInspection inspect_kernel(const SassFunction& function, const KernelResources& resources);

/// Inspects what is of interest in a binary: of kModelledSm the attention kernels, which are those
/// that the program knows and any other with a loop of tensor instructions; every kernel of
/// another sm. Throws std::runtime_error when the two listings are not of one binary.
std::vector<KernelInspection> inspect_listings(std::string_view sass, std::string_view usage);

/// A line for each instance of the registry that the code for `sm` lacks, that has no tensor
/// instructions though it has products and `sm` its instruction, or that has some though it should
/// have none: where `sm` is too new, its products are fused multiply-adds. An `sm` that no kernel
/// of the instruction is compiled for (kernels/machine/mma_instruction.h) is not asked for it. The
/// glob chooses instances by id or by kernel; an unknown name chooses none.
std::vector<std::string> misplaced_instances(std::span<const KernelInspection> kernels, int sm,
                                             std::string_view glob = "*");

}  // namespace sparkbench
