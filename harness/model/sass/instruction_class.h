// Which unit of an SM of sm_70 an instruction keeps busy, and for how long. Rates and classes:
// Jia et al., "Dissecting the NVIDIA Volta GPU architecture via microbenchmarking", and the stall
// counts that ptxas puts between independent instructions of a kind. Loops of other architectures
// are not judged by these.
#pragma once

#include <string_view>

#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

enum class InstructionClass {
  kTensor,
  kFp32,  // and integer multiply-add: 16 lanes a sub-partition
  kAlu,   // 16 lanes
  kFp16,  // on the tensor cores' dispatch port
  kFp64,  // on the same port
  kXu,    // 4 lanes: transcendental functions and conversions
  kLds,
  kSts,
  kShfl,
  kLdg,
  kStg,    // global stores, atomics and reductions
  kLocal,  // loads and stores of local memory: spilled registers, indexed arrays
  kBarrier,
  kControl,  // branches, and what takes an issue slot only
  kOther,
};

inline constexpr int kInstructionClasses = static_cast<int>(InstructionClass::kOther) + 1;

/// "tensor", "fp32", "alu", ...
std::string_view name_of(InstructionClass value);

InstructionClass classify(const SassInstruction& instruction);

/// Cycles of a sub-partition for which the instruction's dispatch port is taken; 0 for what goes to
/// the memory units or nowhere.
int port_cycles(InstructionClass value);

/// A warp's FLOP: 512 for a step of m8n8k4 with FP32 accumulators (four a product), 1024 with FP16
/// accumulators (two), 0 for other instructions.
int tensor_flop(const SassInstruction& instruction);

/// That a lane loads or stores: 1 to 16.
int access_bytes(const SassInstruction& instruction);

/// Passes of 128 bytes through the load-store unit, without bank conflicts; 0 for what does not
/// go there.
int lsu_wavefronts(const SassInstruction& instruction);

}  // namespace sparkbench
