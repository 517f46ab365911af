#include "harness/model/sass/mask_code.h"

#include <algorithm>
#include <map>

namespace sparkbench {
namespace {

bool has_operand(const SassInstruction& instruction, std::initializer_list<std::string_view> any) {
  return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                     [&](const std::string& operand) {
                       return std::find(any.begin(), any.end(), operand) != any.end();
                     });
}

/// As a float, as its bits, as a pair of halves and as one of them.
bool names_minus_infinity(const SassInstruction& instruction) {
  return has_operand(instruction,
                     {"-INF", "-0x800000", "0xff800000", "0xfc00fc00", "0xfc00", "0xfc000000"});
}

bool is_select(const SassInstruction& instruction) {
  return instruction.opcode == "FSEL" || instruction.opcode == "SEL";
}

bool is_move(const SassInstruction& instruction) {
  return instruction.opcode == "MOV" || instruction.opcode == "MOV32I" ||
         (instruction.opcode == "IMAD" && instruction.has_modifier("MOV"));
}

/// What puts one half into a pair.
bool is_merge(const SassInstruction& instruction) { return instruction.opcode == "LOP3"; }

bool is_predicate(std::string_view operand) {
  return operand.size() == 2 && operand[0] == 'P' && operand[1] != 'T';
}

/// The last writer of each predicate so far.
class PredicateWriters {
 public:
  void note(const SassInstruction& instruction) {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, instruction.operands.size()); ++i) {
      if (is_predicate(instruction.operands[i])) {
        opcodes_[instruction.operands[i]] = instruction.opcode;
      }
    }
  }

  /// Whether a `writer` set the predicate by which the instruction chooses or is executed.
  bool is_choice_of(std::string_view writer, const SassInstruction& instruction) const {
    std::string predicate =
        is_select(instruction) ? instruction.operands.back() : instruction.predicate;
    if (predicate.starts_with('!')) predicate.erase(0, 1);
    const auto opcode = opcodes_.find(predicate);
    return opcode != opcodes_.end() && opcode->second == writer;
  }

 private:
  std::map<std::string, std::string> opcodes_;
};

}  // namespace

std::vector<bool> find_mask_code(const SassFunction& function, bool zero_masks) {
  std::vector<bool> masks;
  PredicateWriters writers;
  for (const SassInstruction& instruction : function.instructions) {
    const bool chooses =
        is_select(instruction) ||
        ((is_move(instruction) || is_merge(instruction)) && instruction.is_conditional());
    const bool hides_by_infinity =
        chooses && names_minus_infinity(instruction) && !writers.is_choice_of("FSETP", instruction);
    const bool hides_by_zero = zero_masks && instruction.opcode == "FSEL" &&
                               has_operand(instruction, {"RZ"}) &&
                               writers.is_choice_of("ISETP", instruction);
    masks.push_back(hides_by_infinity || hides_by_zero);
    writers.note(instruction);
  }
  return masks;
}

}  // namespace sparkbench
