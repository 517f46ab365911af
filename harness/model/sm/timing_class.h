// What decides the time of an instruction: its latency, and the port or queue it goes through.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/model/sass/sass_listing.h"
#include "harness/model/sm/machine_constants.h"

namespace sparkbench {

/// Finer than InstructionClass, since a unit's instructions have different latencies.
enum class TimingClass : std::uint8_t {
  kHmmaF32,  // a step of m8n8k4 whose result is FP32
  kHmmaF16,
  kFp16,
  kFp64,
  kFma,
  kAlu,
  kXu,
  kShfl,
  kLds,
  kSts,
  kAtoms,
  kLdg,
  kStg,
  kAtomg,
  kLdl,
  kLdc,
  kS2r,
  kMembar,
  kControl,
  kOther,  // not known: an issue slot only
};
inline constexpr int kTimingClasses = static_cast<int>(TimingClass::kOther) + 1;

/// "HMMA.F32", "LDS", ...
std::string_view name_of(TimingClass value);

TimingClass timing_class_of(const SassInstruction& instruction);

/// A scheduler's dispatch ports. Tensor cores, FP16 and FP64 share one on GV100 [N].
enum class Port : std::uint8_t { kNone, kTensor, kFma, kAlu, kXu };
inline constexpr int kPorts = 5;

Port port_of(TimingClass value);

/// Whether it waits in a scheduler's queue for the memory input and output unit that the four
/// schedulers share.
bool goes_to_mio(TimingClass value);

/// Whether it occupies the data path of 128 bytes a clock, too.
bool uses_data_path(TimingClass value);

/// Whether it takes a part of the SM's share of L2's bandwidth.
bool goes_to_l2(TimingClass value);

/// From issue to the release of its write scoreboard.
int latency_of(TimingClass value, const SmConstants& constants);

/// For how long it holds its port; 1 where it has none.
int hold_of(TimingClass value, const SmConstants& constants);

}  // namespace sparkbench
