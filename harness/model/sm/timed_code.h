// A function's machine code as the simulator needs it: what an instruction waits for, holds and
// releases, read from the 128-bit encoding's control field and from its text.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/sass/sass_listing.h"
#include "harness/model/sm/machine_constants.h"
#include "harness/model/sm/timing_class.h"

namespace sparkbench {

/// 21 bits, the lowest first: 4 stall, 1 yield, 3 write scoreboard, 3 read scoreboard, 6 wait mask,
/// 4 reuse flags.
struct ControlBits {
  std::uint8_t stall = 0;            // cycles until the warp's next instruction, at least 1
  bool prefers_this_warp = false;    // else the scheduler turns to another one
  std::uint8_t write = 7, read = 7;  // scoreboards that it holds until results and sources are done
  std::uint8_t wait = 0;             // scoreboards, a bit each, that are to be free before
  std::uint8_t reuse = 0;            // operands, a bit each, that stay in the reuse cache
};

ControlBits decode_control(std::uint32_t control);

/// "B01---- R- W2 Y S04": waits for 0 and 1, writes under 2, prefers another warp, stalls for 4.
std::string format_control(const ControlBits& control);

/// A block has 16, by number. Those behind stand for the teams of a barrier whose number is not
/// known.
inline constexpr int kNumberedBarriers = 16;
inline constexpr int kBarriers = kNumberedBarriers + 32;

/// The barrier of a BAR: a number, or a register's value.
struct BarrierUse {
  bool waits;             // false: only arrives (BAR.ARV)
  std::optional<int> id;  // absent: in a register
  int threads;            // that meet; 0: all of the block
};

/// "DEPBAR.LE SB0, 0x2" waits until no more than two hold scoreboard 0.
struct PendingLimit {
  int scoreboard = -1;  // -1: none
  int most = 0;
};

struct TimedInstruction {
  std::uint32_t address;
  TimingClass timing_class;
  Port port;
  bool is_tensor;          // its accumulator is forwarded
  bool is_mio;             // goes_to_mio()
  bool is_never_executed;  // @!PT
  bool is_branch;
  bool lacks_reuse;  // an HMMA with neither operand in the reuse cache
  ControlBits control;
  PendingLimit limit;
  int latency;
  std::int16_t hold;      // of its port
  std::int16_t flop;      // of a warp's tensor instruction
  int bytes;              // of all lanes of a memory access
  double wavefronts = 1;  // passes through the data path, bank conflicts included
  std::optional<BarrierUse> barrier;
};

/// Factors by which accesses take more passes (2: two-way conflicts everywhere; 0.5: broadcasts).
/// An address goes before an opcode.
struct BankConflicts {
  std::map<std::uint32_t, double> of_address;
  std::map<std::string, double> of_opcode;

  double factor(const SassInstruction& instruction) const;
};

struct TimedCode {
  SmConstants constants;
  std::vector<TimedInstruction> instructions;  // as in the SassFunction
};

/// Throws UsageError, naming the function, where the listing has no encodings.
TimedCode time_code(const SassFunction& function, const SmConstants& constants,
                    const BankConflicts& conflicts = {});

/// For each instruction of a function.
struct RegisterCosts {
  /// An FP32 or integer instruction reads three different registers of one of the two banks, none
  /// left in the reuse cache by the instruction before.
  std::vector<bool> has_bank_conflict;
  /// An HMMA finds neither A nor B in the reuse cache, as the HMMA before it left that.
  std::vector<bool> lacks_reuse;
};

/// "Before" is in memory order, which is the order of execution inside a loop's straight code.
RegisterCosts register_costs(const SassFunction& function);

}  // namespace sparkbench
