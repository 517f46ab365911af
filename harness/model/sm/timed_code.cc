#include "harness/model/sm/timed_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "harness/model/sass/instruction_class.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// "0x80" or "3"; nothing for a register.
std::optional<int> parse_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, is_hex ? 16 : 10);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

bool is_register(std::string_view operand) { return operand.starts_with('R'); }

/// "BAR.SYNC.DEFER_BLOCKING 0x1, 0x80", "BAR.SYNC R204, 0x80"; what a BAR.RED reduces is passed
/// over.
std::optional<BarrierUse> barrier_of(const SassInstruction& instruction) {
  if (instruction.opcode != "BAR") return std::nullopt;
  BarrierUse barrier{!instruction.has_modifier("ARV"), 0, 0};
  std::vector<std::optional<int>> numbers;
  for (const std::string& operand : instruction.operands) {
    const std::optional<int> number = parse_number(operand);
    if (number || (is_register(operand) && operand != "RZ")) numbers.push_back(number);
  }
  if (!numbers.empty()) barrier.id = numbers[0];
  if (numbers.size() > 1) barrier.threads = numbers[1].value_or(0);
  return barrier;
}

PendingLimit limit_of(const SassInstruction& instruction) {
  const auto& operands = instruction.operands;
  if (instruction.opcode != "DEPBAR" || operands.size() < 2 || !operands[0].starts_with("SB")) {
    return {};
  }
  const auto scoreboard = parse_number(operands[0].substr(2));
  const auto most = parse_number(operands[1]);
  if (!scoreboard || *scoreboard >= kScoreboards || !most) return {};
  return {*scoreboard, *most};
}

/// Bytes of a lane's access; four without a width.
int lane_bytes(const SassInstruction& instruction, TimingClass value) {
  switch (value) {
    case TimingClass::kLds:
    case TimingClass::kSts:
    case TimingClass::kLdg:
    case TimingClass::kStg:
    case TimingClass::kLdl:
      return access_bytes(instruction);
    default:
      return 4;
  }
}

double wavefronts_of(const TimedInstruction& timed, double factor, const SmConstants& constants) {
  switch (timed.timing_class) {
    case TimingClass::kLds:
    case TimingClass::kSts:
      return std::max(1.0, static_cast<double>(timed.bytes) / constants.smem_bytes) * factor;
    case TimingClass::kLdg:
    case TimingClass::kStg:
    case TimingClass::kLdl:
      return std::max(1.0, timed.bytes / 128.0) * factor;
    case TimingClass::kAtoms:
      return 2.0 * factor;
    default:
      return 1.0;
  }
}

TimedInstruction timed(const SassInstruction& instruction, const SmConstants& constants,
                       const BankConflicts& conflicts) {
  const TimingClass value = timing_class_of(instruction);
  const bool is_hmma = value == TimingClass::kHmmaF32 || value == TimingClass::kHmmaF16;
  const bool is_never_executed = instruction.is_never_executed();
  TimedInstruction timed{};
  timed.address = instruction.address;
  timed.timing_class = value;
  timed.port = port_of(value);
  timed.is_tensor = is_hmma && !is_never_executed;
  timed.is_mio = goes_to_mio(value);
  timed.is_never_executed = is_never_executed;
  timed.is_branch = instruction.opcode == "BRA";
  timed.control = decode_control(*instruction.control);
  timed.limit = limit_of(instruction);
  timed.latency = latency_of(value, constants);
  timed.hold = static_cast<std::int16_t>(hold_of(value, constants));
  timed.flop = static_cast<std::int16_t>(tensor_flop(instruction));
  timed.bytes = 32 * lane_bytes(instruction, value);
  timed.wavefronts = wavefronts_of(timed, conflicts.factor(instruction), constants);
  timed.barrier = barrier_of(instruction);
  return timed;
}

void add_register_costs(const SassFunction& function, const SmConstants& constants,
                        TimedCode& code) {
  const RegisterCosts costs = register_costs(function);
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    TimedInstruction& timed = code.instructions[i];
    timed.lacks_reuse = costs.lacks_reuse[i];
    int more = costs.has_bank_conflict[i] ? constants.bank_conflict : 0;
    if (timed.lacks_reuse && timed.timing_class == TimingClass::kHmmaF32) {
      more += constants.hmma_no_reuse;
    }
    timed.hold = static_cast<std::int16_t>(timed.hold + more);
  }
}

}  // namespace

ControlBits decode_control(std::uint32_t control) {
  const auto bits = [control](int first, int count) {
    return static_cast<std::uint8_t>(control >> first & ((1u << count) - 1));
  };
  return {.stall = bits(0, 4),
          .prefers_this_warp = bits(4, 1) != 0,
          .write = bits(5, 3),
          .read = bits(8, 3),
          .wait = bits(11, 6),
          .reuse = bits(17, 4)};
}

std::string format_control(const ControlBits& control) {
  std::string text = "B";
  for (int i = 0; i < kScoreboards; ++i) {
    text += control.wait >> i & 1 ? static_cast<char>('0' + i) : '-';
  }
  const auto scoreboard = [](int value) {
    return value < kScoreboards ? static_cast<char>('0' + value) : '-';
  };
  return text + fmt::format(" R{} W{} {} S{:02}", scoreboard(control.read),
                            scoreboard(control.write), control.prefers_this_warp ? '-' : 'Y',
                            control.stall);
}

double BankConflicts::factor(const SassInstruction& instruction) const {
  const auto at = of_address.find(instruction.address);
  if (at != of_address.end()) return at->second;
  const auto of = of_opcode.find(instruction.opcode);
  return of == of_opcode.end() ? 1.0 : of->second;
}

TimedCode time_code(const SassFunction& function, const SmConstants& constants,
                    const BankConflicts& conflicts) {
  TimedCode code{constants, {}};
  code.instructions.reserve(function.instructions.size());
  for (const SassInstruction& instruction : function.instructions) {
    if (!instruction.control) {
      throw UsageError(
          fmt::format("{}: the listing has no encodings, which say how long an instruction waits; "
                      "allowed: what cuobjdump -sass or nvdisasm -hex prints",
                      function.symbol));
    }
    code.instructions.push_back(timed(instruction, constants, conflicts));
  }
  add_register_costs(function, constants, code);
  return code;
}

}  // namespace sparkbench
