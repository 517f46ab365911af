#include "harness/model/flow/operation.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "harness/model/sass/text_lines.h"

namespace sparkbench {
namespace {

using Kind = SassOperand::Kind;

/// In the order of Modifier.
constexpr std::string_view kModifierNames[] = {
    "X",  "HI", "WIDE",  "U32",  "SX32",  "EX",  "L",   "R",  "W",    "U64",  "S64", "PAND",
    "U8", "S8", "U16",   "S16",  "64",    "128", "32",  "B1", "B2",   "B3",   "SH",  "RP",
    "RM", "RZ", "TRUNC", "CEIL", "FLOOR", "RCP", "IDX", "UP", "DOWN", "BFLY", "ALL", "ANY",
    "EQ", "LT", "LE",    "GT",   "NE",    "GE",  "AND", "OR", "XOR",  "F64",  "F16"};
static_assert(std::size(kModifierNames) == static_cast<std::size_t>(Modifier::kOther));

std::uint64_t modifiers_of(const SassInstruction& instruction) {
  std::uint64_t bits = 0;
  for (const std::string& modifier : instruction.modifiers) {
    const auto* const found =
        std::find(std::begin(kModifierNames), std::end(kModifierNames), modifier);
    bits |= std::uint64_t{1} << (found - std::begin(kModifierNames));
  }
  return bits;
}

/// How many registers an instruction writes that writes any.
int register_count(const SassInstruction& instruction, const OperationOperands& operands) {
  const std::string& opcode = instruction.opcode;
  const auto has = [&](Modifier modifier) { return operands.has(modifier); };
  if (opcode == "CS2R") return has(Modifier::k32) ? 1 : 2;
  if (opcode == "HMMA" || opcode == "DADD" || opcode == "DMUL" || opcode == "DFMA") return 2;
  if (opcode == "F2F") {
    return !instruction.modifiers.empty() && instruction.modifiers.front() == "F64" ? 2 : 1;
  }
  if (opcode == "I2F") return has(Modifier::kF64) ? 2 : 1;
  if (opcode == "F2I") return has(Modifier::kU64) || has(Modifier::kS64) ? 2 : 1;
  if (has(Modifier::kWide) || has(Modifier::k64)) return 2;
  return has(Modifier::k128) ? 4 : 1;
}

void forget_unlisted(WarpValues& state, const OperationOperands& operands,
                     const ActiveLanes& lanes) {
  forget_results(state, operands, lanes);
}

std::unordered_map<std::string_view, const Operation*> table_of_operations() {
  std::unordered_map<std::string_view, const Operation*> table;
  for (const auto operations : {arithmetic_operations(), bit_operations(), predicate_operations(),
                                data_operations(), conversion_operations(), opaque_operations()}) {
    for (const Operation& operation : operations) table[operation.opcode] = &operation;
  }
  return table;
}

/// What is written stands before what is read.
class OperandSorter {
 public:
  OperandSorter(const SassInstruction& instruction, const Operation& operation,
                OperationOperands& operands)
      : instruction_(instruction),
        operands_(operands),
        wants_register_(operation.has_register),
        truths_left_(operation.truths) {}

  void add(const SassOperand& operand) {
    const bool may_be_written = operands_.source_count == 0;
    if (operand.is(Kind::kPredicate)) {
      if (may_be_written && truths_left_ > 0) {
        --truths_left_;
        operands_.truths[truths_++] = operand.index;
      } else if (operands_.condition_count < operands_.conditions.size()) {
        operands_.conditions[operands_.condition_count++] = operand;
      }
    } else if (may_be_written && wants_register_ && operand.is(Kind::kRegister)) {
      const int count = register_count(instruction_, operands_);
      operands_.destination = {operand.index, static_cast<std::uint8_t>(count)};
      wants_register_ = false;
    } else if (operands_.source_count < operands_.sources.size()) {
      operands_.sources[operands_.source_count++] = operand;
    }
  }

 private:
  const SassInstruction& instruction_;
  OperationOperands& operands_;
  bool wants_register_;
  int truths_left_;
  std::size_t truths_ = 0;
};

}  // namespace

const Operation* find_operation(std::string_view opcode) {
  static const auto table = table_of_operations();
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

const Operation& operation_of(std::string_view opcode) {
  static constexpr Operation kUnlisted{"", forget_unlisted, true, 2};
  const Operation* const found = find_operation(opcode);
  return found != nullptr ? *found : kUnlisted;
}

OperationOperands read_operands(const SassInstruction& instruction, const Operation& operation,
                                const ConstantBank& constants) {
  OperationOperands operands;
  operands.modifiers = modifiers_of(instruction);
  OperandSorter sorter(instruction, operation, operands);
  for (const std::string& text : instruction.operands) {
    // "RET.REL.NODEC R26 0x0" has no comma.
    for (const std::string& part : split(text, ' ')) sorter.add(parse_operand(part, constants));
  }
  return operands;
}

void forget_results(WarpValues& state, const OperationOperands& operands,
                    const ActiveLanes& lanes) {
  const auto [first, count] = operands.destination;
  for (int i = 0; i < count && first + i < kRegisterZero; ++i) {
    state.forget(static_cast<std::uint8_t>(first + i), lanes);
  }
  for (const std::uint8_t truth : operands.truths) state.write(truth, LaneTruth{}, lanes);
}

}  // namespace sparkbench
