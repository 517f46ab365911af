#include "harness/model/sm/unseen.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace sparkbench {
namespace {

constexpr int kL1Kib = 128;  // of an SM, with its shared memory: NVIDIA, Volta white paper
constexpr int kLanes = 32;
constexpr int kRegisterBytes = 4;

/// Registers that an access of that width reads or writes.
int registers_of(const SassInstruction& instruction) {
  return instruction.has_modifier("128") ? 4 : instruction.has_modifier("64") ? 2 : 1;
}

/// "R12" anywhere in an operand, such as "[R12+0x40]" or "-R12.reuse".
std::optional<int> register_in(std::string_view operand) {
  for (std::size_t at = operand.find('R'); at != std::string_view::npos;
       at = operand.find('R', at + 1)) {
    int number = 0;
    const char* const begin = operand.data() + at + 1;
    const auto [stop, error] = std::from_chars(begin, operand.data() + operand.size(), number);
    const bool is_start = at == 0 || operand[at - 1] != 'U';
    if (error == std::errc() && stop != begin && is_start) return number;
  }
  return std::nullopt;
}

bool is_address(std::string_view operand) { return operand.starts_with('['); }

bool is_global_load(const SassInstruction& instruction) {
  return instruction.opcode == "LDG" || instruction.opcode == "LD";
}

/// Follows which registers were computed from values of global memory, along straight code. What
/// went through shared memory or the stack is not followed.
class LoadedValues {
 public:
  void execute(const SassInstruction& instruction) {
    if (instruction.opcode.find("SETP") != std::string::npos) return;  // writes predicates alone
    const auto to = first_register(instruction);
    if (to == instruction.operands.end() || is_address(*to)) return;
    const auto destination = register_in(*to);
    if (!destination) return;
    const bool is_loaded = is_global_load(instruction) || reads_loaded(instruction);
    const bool is_pair = instruction.has_modifier("WIDE");
    const int count = is_pair ? 2 : registers_of(instruction);
    for (int i = 0; i < count; ++i) {
      if (is_loaded) {
        loaded_.insert(*destination + i);
      } else if (!instruction.is_conditional()) {
        loaded_.erase(*destination + i);
      }
    }
  }

  bool is_from_loaded_address(const SassInstruction& instruction) const {
    return std::ranges::any_of(instruction.operands, [&](const std::string& operand) {
      return is_address(operand) && is_loaded(operand);
    });
  }

 private:
  /// The first operand that is no predicate, as SHFL and LOP3 may have before it.
  static std::vector<std::string>::const_iterator first_register(
      const SassInstruction& instruction) {
    return std::ranges::find_if(instruction.operands, [](const std::string& operand) {
      return !operand.starts_with('P') && !operand.starts_with("!P");
    });
  }
  bool is_loaded(std::string_view operand) const {
    const auto number = register_in(operand);
    return number && loaded_.contains(*number);
  }
  bool reads_loaded(const SassInstruction& instruction) const {
    const bool goes_through_memory =
        instruction.opcode == "LDS" || instruction.opcode == "LDL" || instruction.opcode == "LDC";
    if (goes_through_memory) return false;
    return std::any_of(first_register(instruction) + 1, instruction.operands.end(),
                       [&](const std::string& operand) { return is_loaded(operand); });
  }

  std::set<int> loaded_;
};

/// Loads of one pass whose addresses were themselves loaded.
int gathers_in(const SassFunction& function, const WarpPath& path, bool repeats) {
  LoadedValues values;
  int gathers = 0;
  for (int pass = repeats ? 0 : 1; pass < 2; ++pass) {
    gathers = 0;
    for (const PathStep& step : path) {
      if (!step.is_executed) continue;
      const SassInstruction& instruction = function.instructions[step.instruction];
      const bool is_gather =
          is_global_load(instruction) && values.is_from_loaded_address(instruction);
      gathers += is_gather ? 1 : 0;
      values.execute(instruction);
    }
  }
  return gathers;
}

/// Accesses to the stack, and the bytes of a thread that they reach.
struct StackUse {
  int accesses = 0, bytes = 0;
};

StackUse stack_use_of(const SassFunction& function, const WarpPath& path) {
  StackUse use;
  std::map<std::string, int> registers;  // by address, the most of an access
  for (const PathStep& step : path) {
    const SassInstruction& instruction = function.instructions[step.instruction];
    if (instruction.opcode != "LDL" && instruction.opcode != "STL") continue;
    ++use.accesses;
    const auto address = std::ranges::find_if(instruction.operands, is_address);
    if (address == instruction.operands.end()) continue;
    int& most = registers[*address];
    most = std::max(most, registers_of(instruction));
  }
  for (const auto& [address, count] : registers) use.bytes += kRegisterBytes * count;
  return use;
}

bool is_named_barrier(const SassInstruction& instruction) {
  if (instruction.opcode != "BAR") return false;
  if (instruction.has_modifier("ARV")) return true;
  const std::string_view name =
      instruction.operands.empty() ? std::string_view() : instruction.operands.front();
  return (name.starts_with("0x") && name != "0x0") || (name.starts_with('R') && name != "RZ");
}

bool has(const SassFunction& function, const WarpPath& path,
         bool (*is_meant)(const SassInstruction&)) {
  return std::ranges::any_of(path, [&](const PathStep& step) {
    return is_meant(function.instructions[step.instruction]);
  });
}

}  // namespace

std::set<std::string> notes_of_unseen(const SassFunction& function, const WarpPath& path, int warps,
                                      bool repeats) {
  std::set<std::string> notes;
  if (const StackUse stack = stack_use_of(function, path); stack.accesses > 0) {
    const int kib = (stack.bytes * kLanes * warps + 1023) / 1024;
    notes.insert(fmt::format(
        "{} accesses to the stack a pass and warp, taken as hits of L1; they reach {} bytes a "
        "thread, {} KiB of an SM, {}",
        stack.accesses, stack.bytes, kib,
        kib > kL1Kib ? fmt::format("more than its {} KiB: --set ldl_latency=200 takes all as hits "
                                   "of L2",
                                   kL1Kib)
                     : fmt::format("which has {} KiB with shared memory", kL1Kib)));
  }
  if (has(function, path, is_global_load)) {
    notes.insert(
        "loads from global memory are taken as hits of L2 on an idle card: a working set over 6 MB "
        "and scattered addresses take longer; --sensitivity has the price of misses");
  }
  if (const int gathers = gathers_in(function, path, repeats); gathers > 0) {
    notes.insert(fmt::format(
        "{} loads a pass and warp are from addresses that were loaded, as of gathers and lists: "
        "taken as if lanes were next to each other",
        gathers));
  }
  if (has(function, path, is_named_barrier)) {
    notes.insert(
        "named barriers: warps may have roles of their own, and all are taken to run this "
        "path");
  }
  return notes;
}

}  // namespace sparkbench
