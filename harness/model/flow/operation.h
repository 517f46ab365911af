// What an instruction does to a warp's registers and predicates, chosen once by its opcode.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "harness/model/flow/warp_values.h"
#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

/// Words behind an opcode that change a result.
enum class Modifier : std::uint8_t {
  kX,
  kHi,
  kWide,
  kU32,
  kSx32,
  kEx,
  kL,
  kR,
  kW,
  kU64,
  kS64,
  kPand,
  kU8,
  kS8,
  kU16,
  kS16,
  k64,
  k128,
  k32,
  kB1,
  kB2,
  kB3,
  kSh,
  kRp,
  kRm,
  kRz,
  kTrunc,
  kCeil,
  kFloor,
  kRcp,
  kIdx,
  kUp,
  kDown,
  kBfly,
  kAll,
  kAny,
  kEq,
  kLt,
  kLe,
  kGt,
  kNe,
  kGe,
  kAnd,
  kOr,
  kXor,
  kF64,
  kF16,
  kOther,  // one that the table does not have
};

/// Registers that an instruction writes: [first, first + count).
struct Destination {
  std::uint8_t first = kRegisterZero;
  std::uint8_t count = 0;
};

/// The operands by what they are for.
struct OperationOperands {
  Destination destination;
  std::array<std::uint8_t, 2> truths = {kPredicateTrue, kPredicateTrue};  // predicates written
  std::array<SassOperand, 5> sources;
  std::array<SassOperand, 3> conditions;  // predicates read
  std::uint8_t source_count = 0, condition_count = 0;
  std::uint64_t modifiers = 0;  // bits of Modifier

  bool has(Modifier modifier) const { return (modifiers >> static_cast<int>(modifier) & 1u) != 0; }
};

using Execute = void (*)(WarpValues&, const OperationOperands&, const ActiveLanes&);

struct Operation {
  std::string_view opcode;
  Execute execute;
  bool has_register = true;  // whether the first register is written, not read
  std::uint8_t truths = 0;   // predicates that may stand before what is read
};

/// Each of them with the opcodes that its file is about.
std::span<const Operation> arithmetic_operations();
std::span<const Operation> bit_operations();
std::span<const Operation> predicate_operations();
std::span<const Operation> data_operations();
std::span<const Operation> conversion_operations();
/// Those whose results this model leaves unknown.
std::span<const Operation> opaque_operations();

/// Null for an opcode that no table has.
const Operation* find_operation(std::string_view opcode);

/// As find_operation(), or one that makes all that the instruction may write unknown.
const Operation& operation_of(std::string_view opcode);

/// Reads the operands of `instruction` for `operation`.
OperationOperands read_operands(const SassInstruction& instruction, const Operation& operation,
                                const ConstantBank& constants);

/// Makes unknown what the instruction writes.
void forget_results(WarpValues& state, const OperationOperands& operands, const ActiveLanes& lanes);

/// Results known where all of some inputs are.
template <class Function>
LaneWords map_words(const LaneWords& a, const LaneWords& b, const LaneWords& c, Function function) {
  LaneWords result;
  for (int i = 0; i < kLanes; ++i) result.value[i] = function(a.value[i], b.value[i], c.value[i]);
  result.known = a.known & b.known & c.known;
  return result;
}

}  // namespace sparkbench
