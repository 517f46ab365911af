
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include "harness/model/sm/timed_code.h"

namespace sparkbench {
namespace {

constexpr int kZeroRegister = -1;

struct SourceRegister {
  int slot;    // of the operand collector: its reuse flag's
  int number;  // of the register; kZeroRegister: RZ

  bool operator==(const SourceRegister&) const = default;
};

using Sources = std::vector<SourceRegister>;

/// "R16" of "-|R16.reuse|"; nothing for what is no register with a number.
std::optional<int> register_number(std::string_view operand) {
  operand.remove_prefix(std::min(operand.find_first_not_of("-|~!"), operand.size()));
  if (!operand.starts_with('R')) return std::nullopt;
  int number = 0;
  const char* const end = operand.data() + operand.size();
  const auto [stop, error] = std::from_chars(operand.data() + 1, end, number);
  const bool is_whole = error == std::errc{} && (stop == end || !std::isalnum(*stop));
  return is_whole ? std::optional(number) : std::nullopt;
}

/// A and B; an accumulator has no reuse flag.
Sources tensor_sources(const SassInstruction& instruction) {
  Sources sources;
  for (std::size_t slot = 0; slot < 2 && slot + 1 < instruction.operands.size(); ++slot) {
    const auto number = register_number(instruction.operands[slot + 1]);
    sources.push_back({static_cast<int>(slot), number.value_or(kZeroRegister)});
  }
  return sources;
}

Sources sources_of(const SassInstruction& instruction) {
  const TimingClass value = timing_class_of(instruction);
  if (value == TimingClass::kHmmaF32 || value == TimingClass::kHmmaF16) {
    return tensor_sources(instruction);
  }
  Sources sources;
  if (value != TimingClass::kFma && value != TimingClass::kAlu) return sources;
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
    if (const auto number = register_number(instruction.operands[i])) {
      sources.push_back({static_cast<int>(i) - 1, *number});
    }
  }
  return sources;
}

/// An instruction whose reuse flags keep sources.
struct Keeper {
  std::uint8_t reuse = 0;
  Sources sources;

  bool keeps(const SourceRegister& source) const {
    return (reuse >> source.slot & 1) != 0 &&
           std::find(sources.begin(), sources.end(), source) != sources.end();
  }
};

bool conflicts(const Sources& sources, const Keeper& before) {
  if (sources.size() != 3) return false;
  std::set<int> registers, banks;
  for (const SourceRegister& source : sources) {
    if (before.keeps(source)) return false;
    registers.insert(source.number);
    banks.insert(source.number % 2);
  }
  return registers.size() == 3 && banks.size() == 1;
}

}  // namespace

RegisterCosts register_costs(const SassFunction& function) {
  RegisterCosts costs;
  Keeper before, tensor_before;
  for (const SassInstruction& instruction : function.instructions) {
    Keeper current{decode_control(instruction.control.value_or(0)).reuse, sources_of(instruction)};
    const bool is_tensor = instruction.opcode == "HMMA" && !instruction.is_never_executed();
    const bool hits =
        std::any_of(current.sources.begin(), current.sources.end(),
                    [&](const SourceRegister& source) { return tensor_before.keeps(source); });
    costs.lacks_reuse.push_back(is_tensor && !hits);
    costs.has_bank_conflict.push_back(!is_tensor && conflicts(current.sources, before));
    if (is_tensor) tensor_before = current;
    before = std::move(current);
  }
  return costs;
}

}  // namespace sparkbench
