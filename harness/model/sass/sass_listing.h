// Machine code as cuobjdump writes it down, one instruction a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// "@!P0 HMMA.884.F32.F32.STEP0 R12, R16.reuse.ROW, R18.COL, RZ"
struct SassInstruction {
  std::uint32_t address;
  std::string predicate;                      // "P0" or "!P0"; empty: always executed
  std::string opcode;                         // "HMMA"
  std::vector<std::string> modifiers;         // "884", "F32", "F32", "STEP0"
  std::vector<std::string> operands;          // "R12", "R16.reuse.ROW", "R18.COL", "RZ"
  std::optional<std::uint32_t> target;        // where a branch to a known address goes
  std::optional<std::uint32_t> control = {};  // bits 105 to 125 of the encoding, where it is given

  bool has_modifier(std::string_view modifier) const;
  bool is_conditional() const { return !predicate.empty() && predicate != "PT"; }
  bool is_never_executed() const { return predicate == "!PT"; }
};

struct SassFunction {
  std::string symbol;  // mangled
  int sm;              // 70
  std::vector<SassInstruction> instructions;
};

/// As the disassembler writes it: "@!P0 BRA 0x410".
std::string text_of(const SassInstruction& instruction);

/// The functions of a `cuobjdump -sass` or `nvdisasm -hex` listing, in its order. Other lines are
/// passed over.
std::vector<SassFunction> parse_sass_listing(std::string_view listing);

}  // namespace sparkbench
