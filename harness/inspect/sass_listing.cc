#include "harness/inspect/sass_listing.h"

#include <charconv>

#include "harness/inspect/text_lines.h"

namespace sparkbench {
namespace {

std::optional<std::uint32_t> parse_hex(std::string_view digits) {
  std::uint32_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// BSSY names where its threads meet again; that is no jump.
bool is_jump(const std::string& opcode) { return opcode == "BRA" || opcode == "JMP"; }

/// "@P0 BRA 0x410"
SassInstruction parse_instruction(std::uint32_t address, std::string_view text) {
  SassInstruction instruction{.address = address};
  if (text.starts_with('@')) {
    const std::size_t end = std::min(text.find(' '), text.size());
    instruction.predicate = text.substr(1, end - 1);
    text = trimmed(text.substr(end));
  }
  const std::size_t end = std::min(text.find(' '), text.size());
  instruction.modifiers = split(text.substr(0, end), '.');
  if (!instruction.modifiers.empty()) {
    instruction.opcode = instruction.modifiers.front();
    instruction.modifiers.erase(instruction.modifiers.begin());
  }
  instruction.operands = split(trimmed(text.substr(end)), ',');
  if (is_jump(instruction.opcode) && !instruction.operands.empty()) {
    const std::string& operand = instruction.operands.back();
    if (operand.starts_with("0x")) instruction.target = parse_hex(operand.substr(2));
  }
  return instruction;
}

/// "/*0080*/  @!P0 BRA 0x410 ;  /* 0x0000038000008947 */"; nothing for any other line.
std::optional<SassInstruction> parse_line(std::string_view line) {
  const std::string_view after = after_prefix(line, "/*");
  const std::size_t address_end = after.find("*/");
  const std::size_t end = after.find(';');
  if (address_end == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const auto address = parse_hex(after.substr(0, address_end));
  if (!address || end < address_end) return std::nullopt;
  return parse_instruction(*address, trimmed(after.substr(address_end + 2, end - address_end - 2)));
}

}  // namespace

bool SassInstruction::has_modifier(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::vector<SassFunction> parse_sass_listing(std::string_view listing) {
  std::vector<SassFunction> functions;
  int sm = 0;
  for_each_line(listing, [&](std::string_view line) {
    if (const auto digits = after_prefix(line, "code for sm_"); !digits.empty()) {
      std::from_chars(digits.data(), digits.data() + digits.size(), sm);
    } else if (const auto symbol = after_prefix(line, "Function :"); !symbol.empty()) {
      functions.push_back({std::string(symbol), sm, {}});
    } else if (auto instruction = parse_line(line); instruction && !functions.empty()) {
      functions.back().instructions.push_back(std::move(*instruction));
    }
  });
  return functions;
}

}  // namespace sparkbench
