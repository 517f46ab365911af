// An operand of an instruction, read once, so that executing it costs no look at text.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/model/flow/kernel_launch.h"

namespace sparkbench {

inline constexpr std::uint8_t kRegisterZero = 255;  // RZ
inline constexpr std::uint8_t kPredicateTrue = 7;   // PT

enum class SpecialRegister : std::uint8_t {
  kUnknown,  // clocks, the SM's number, ...
  kZero,     // SRZ
  kThreadX,
  kThreadY,
  kThreadZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kLane,
};

struct SassOperand {
  enum class Kind : std::uint8_t {
    kUnknown,          // no value that this model knows
    kRegister,         // R12, -R5, ~R3, |R4|
    kValue,            // 0x12, -0x1, and c[0x0][0x160] of the launch
    kIndexedConstant,  // c[0x0][R47+0x168]
    kMemory,           // [R2+0x40]
    kPredicate,        // P0, !P0, PT
    kSpecial,          // SR_TID.X
    kBarrier,          // B0
    kPredicates,       // PR: all of them
  };

  Kind kind = Kind::kUnknown;
  std::uint8_t index = 0;    // of the register, predicate, special register or barrier
  std::uint8_t scale = 1;    // of the register in an address: [R2.X4+0x40]
  bool is_negated = false;   // -
  bool is_inverted = false;  // ~, !
  bool is_absolute = false;  // ||
  std::uint32_t value = 0;   // of kValue; of an address, what is added to the register
  std::uint32_t high = 0;    // of kValue: the word behind a constant, or an immediate's sign
  bool is_high_known = false;

  bool is(Kind of) const { return kind == of; }
  SpecialRegister special() const { return static_cast<SpecialRegister>(index); }
};

/// Anything that it does not know is kUnknown: floating-point immediates, other constant banks.
SassOperand parse_operand(std::string_view text, const ConstantBank& constants);

}  // namespace sparkbench
