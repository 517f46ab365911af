#include "harness/model/sass/sass_listing.h"

#include <charconv>
#include <map>

#include "harness/model/sass/text_lines.h"

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

/// The control field in the second line of a 128-bit encoding, "/* 0x000fc400078e00ff */".
std::optional<std::uint32_t> parse_control(std::string_view line) {
  std::string_view digits = after_prefix(line, "/* 0x");
  digits = digits.substr(0, digits.find(' '));
  std::uint64_t high = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), high, 16);
  if (digits.size() != 16 || error != std::errc{} || stop != digits.data() + 16) return {};
  return static_cast<std::uint32_t>(high >> 41 & 0x1fffff);
}

std::string_view after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + word.size());
}

/// "_Z1kPfi" of nvdisasm's ".text._Z1kPfi:", ".L_x_1" of ".L_x_1:".
std::string_view label_of(std::string_view line, std::string_view prefix) {
  const std::string_view text = trimmed(line);
  if (!text.starts_with(prefix) || !text.ends_with(':')) return {};
  return text.substr(0, text.size() - 1);
}

class ListingReader {
 public:
  void read_line(std::string_view line) {
    if (read_header(line) || functions_.empty()) return;
    auto& instructions = functions_.back().instructions;
    if (const auto label = label_of(line, ".L"); !label.empty()) {
      labels_.emplace_back(label);
    } else if (auto instruction = parse_line(line)) {
      for (const std::string& name : labels_) addresses_[name] = instruction->address;
      labels_.clear();
      instructions.push_back(std::move(*instruction));
    } else if (const auto control = parse_control(line);
               control && !instructions.empty() && !instructions.back().control) {
      instructions.back().control = control;
    }
  }

  std::vector<SassFunction> finish() {
    resolve_labels();
    return std::move(functions_);
  }

 private:
  /// A line that says of which architecture or function the next ones are.
  bool read_header(std::string_view line) {
    constexpr std::string_view kSection = ".text.";
    std::string_view digits = after_prefix(line, "code for sm_");
    if (const auto flags = after_prefix(line, ".headerflags"); !flags.empty()) {
      digits = after(flags, "EF_CUDA_SM");  // where nvdisasm has it
    }
    if (!digits.empty()) {
      std::from_chars(digits.data(), digits.data() + digits.size(), sm_);
      return true;
    }
    std::string_view symbol = after_prefix(line, "Function :");
    if (const auto name = label_of(line, kSection); !name.empty()) {
      symbol = name.substr(kSection.size());
    }
    if (symbol.empty()) return false;
    resolve_labels();
    functions_.push_back({std::string(symbol), sm_, {}});
    return true;
  }

  /// nvdisasm writes "BRA `(.L_x_1)".
  void resolve_labels() {
    if (functions_.empty() || addresses_.empty()) return;
    for (SassInstruction& instruction : functions_.back().instructions) {
      if (!is_jump(instruction.opcode) || instruction.operands.empty()) continue;
      const std::string& operand = instruction.operands.back();
      if (!operand.starts_with("`(") || !operand.ends_with(')')) continue;
      const auto found = addresses_.find(operand.substr(2, operand.size() - 3));
      if (found != addresses_.end()) instruction.target = found->second;
    }
    addresses_.clear();
    labels_.clear();
  }

  std::vector<SassFunction> functions_;
  int sm_ = 0;
  std::vector<std::string> labels_;                 // of the next instruction
  std::map<std::string, std::uint32_t> addresses_;  // of the labels before it
};

}  // namespace

bool SassInstruction::has_modifier(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string text_of(const SassInstruction& instruction) {
  std::string text = instruction.predicate.empty() ? "" : "@" + instruction.predicate + " ";
  text += instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) text += "." + modifier;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    text += (i == 0 ? " " : ", ") + instruction.operands[i];
  }
  return text;
}

std::vector<SassFunction> parse_sass_listing(std::string_view listing) {
  ListingReader reader;
  for_each_line(listing, [&](std::string_view line) { reader.read_line(line); });
  return reader.finish();
}

}  // namespace sparkbench
