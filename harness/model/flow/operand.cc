#include "harness/model/flow/operand.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "harness/model/sass/text_lines.h"

namespace sparkbench {
namespace {

using Kind = SassOperand::Kind;

constexpr std::array<std::pair<std::string_view, SpecialRegister>, 8> kSpecialRegisters = {{
    {"SRZ", SpecialRegister::kZero},
    {"SR_TID.X", SpecialRegister::kThreadX},
    {"SR_TID.Y", SpecialRegister::kThreadY},
    {"SR_TID.Z", SpecialRegister::kThreadZ},
    {"SR_CTAID.X", SpecialRegister::kBlockX},
    {"SR_CTAID.Y", SpecialRegister::kBlockY},
    {"SR_CTAID.Z", SpecialRegister::kBlockZ},
    {"SR_LANEID", SpecialRegister::kLane},
}};

std::optional<std::uint32_t> number(std::string_view digits, int base) {
  std::uint32_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// "0x12", "-0x1", "3": integers as cuobjdump writes them.
std::optional<std::uint32_t> integer(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const auto value = text.starts_with("0x") ? number(text.substr(2), 16) : number(text, 10);
  return value && is_negative ? 0u - *value : value;
}

/// "12" of "R12", "Z" of "RZ": the number of a register, predicate or barrier.
std::optional<std::uint8_t> index_of(std::string_view text, char letter, char last_letter,
                                     std::uint8_t last) {
  if (text.size() < 2 || text[0] != letter) return std::nullopt;
  if (text.substr(1) == std::string_view(&last_letter, 1)) return last;
  const auto value = number(text.substr(1), 10);
  if (!value || *value > last) return std::nullopt;
  return static_cast<std::uint8_t>(*value);
}

/// "R12", or "R12.reuse", "R12.X4", "R12.H0_H0": what follows the register is in `rest`.
std::optional<std::uint8_t> register_of(std::string_view text, std::string_view& rest) {
  const std::size_t end = std::min(text.find('.'), text.size());
  rest = text.substr(end);
  return index_of(text.substr(0, end), 'R', 'Z', kRegisterZero);
}

/// "R47+0x168", "R2.X4+-0x40", "0x160": a register, if there is one, and what is added.
bool parse_address(std::string_view text, SassOperand& operand) {
  operand.index = kRegisterZero;
  for (const std::string& part : split(text, '+')) {
    std::string_view rest;
    if (const auto index = register_of(part, rest)) {
      operand.index = *index;
      if (rest.starts_with(".X")) {
        operand.scale = static_cast<std::uint8_t>(number(rest.substr(2), 10).value_or(1));
      }
    } else if (const auto value = integer(part)) {
      operand.value += *value;
    } else {
      return false;
    }
  }
  return true;
}

/// "c[0x0][0x160]", "c[0x0][R47+0x168]"
SassOperand parse_constant(std::string_view text, const ConstantBank& constants) {
  SassOperand operand;
  const std::string_view place = after_prefix(text, "c[0x0][");
  const std::size_t end = place.find(']');
  if (end == std::string_view::npos || !parse_address(place.substr(0, end), operand)) return {};
  if (operand.index != kRegisterZero) {
    operand.kind = Kind::kIndexedConstant;
    return operand;
  }
  const std::uint32_t offset = operand.value;
  const auto low = constants.load(offset, 4), high = constants.load(offset + 4, 4);
  if (!low) {  // its bytes may be read one by one
    operand.kind = Kind::kIndexedConstant;
    return operand;
  }
  operand.kind = Kind::kValue;
  operand.value = *low;
  operand.is_high_known = high.has_value();
  operand.high = high.value_or(0);
  return operand;
}

SassOperand parse_plain(std::string_view text, const ConstantBank& constants) {
  SassOperand operand;
  const auto found = [&operand](Kind kind, std::uint8_t index) {
    operand.kind = kind;
    operand.index = index;
    return operand;
  };
  std::string_view rest;
  if (text.starts_with('[')) {
    const bool is_address = parse_address(text.substr(1, text.find(']') - 1), operand);
    return is_address ? found(Kind::kMemory, operand.index) : SassOperand{};
  }
  if (text.starts_with("c[")) return parse_constant(text, constants);
  if (text == "PR") return found(Kind::kPredicates, 0);
  if (const auto index = register_of(text, rest)) {
    const bool is_whole = rest.empty() || rest == ".reuse";  // not a half of it, or a byte
    return is_whole ? found(Kind::kRegister, *index) : SassOperand{};
  }
  if (const auto index = index_of(text, 'P', 'T', kPredicateTrue)) {
    return found(Kind::kPredicate, *index);
  }
  if (const auto index = index_of(text, 'B', '_', 15)) return found(Kind::kBarrier, *index);
  if (text.starts_with("SR")) {
    for (const auto& [name, special] : kSpecialRegisters) {
      if (text == name) return found(Kind::kSpecial, static_cast<std::uint8_t>(special));
    }
    return found(Kind::kSpecial, static_cast<std::uint8_t>(SpecialRegister::kUnknown));
  }
  return operand;
}

}  // namespace

SassOperand parse_operand(std::string_view text, const ConstantBank& constants) {
  if (const auto value = integer(text)) {
    SassOperand operand{.kind = Kind::kValue, .value = *value};
    operand.high = text.starts_with('-') ? ~0u : 0u;
    operand.is_high_known = true;
    return operand;
  }
  const bool is_negated = text.starts_with('-');
  const bool is_inverted = text.starts_with('~') || text.starts_with('!');
  if (is_negated || is_inverted) text.remove_prefix(1);
  const bool is_absolute = text.starts_with('|');
  if (is_absolute) text = text.substr(1, text.find('|', 1) - 1);
  SassOperand operand = parse_plain(text, constants);
  operand.is_negated = is_negated;
  operand.is_inverted = is_inverted;
  operand.is_absolute = is_absolute;
  return operand;
}

}  // namespace sparkbench
