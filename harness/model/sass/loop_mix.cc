#include "harness/model/sass/loop_mix.h"

#include <algorithm>
#include <limits>

namespace sparkbench {
namespace {

constexpr double kMmaFlop = 2048.0;
constexpr double kMmaCycles = 8.0;        // of a sub-partition
constexpr double kMmaSharedCycles = 2.0;  // of a unit that serves four sub-partitions

/// "R16" of "R16.reuse.ROW" and of "[R16+0x40]".
bool names_register(std::string_view operand, std::string_view name) {
  const std::size_t at = operand.find(name);
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + name.size();
  return end == operand.size() || operand[end] < '0' || operand[end] > '9';
}

bool reads(const SassInstruction& instruction, std::string_view name) {
  return !instruction.operands.empty() &&
         std::any_of(instruction.operands.begin() + 1, instruction.operands.end(),
                     [&](const std::string& operand) { return names_register(operand, name); });
}

/// Whether what the shuffle at `path[at]` ("SHFL.BFLY PT, R17, R16, 0x2, 0x1f") brings is read by a
/// maximum first: the maximum of a row over its lanes.
bool is_for_maximum(const SassFunction& function, std::span<const int> path, std::size_t at) {
  const SassInstruction& shuffle = function.instructions[path[at]];
  if (shuffle.operands.size() < 2) return false;
  for (std::size_t i = at + 1; i < at + path.size(); ++i) {
    const SassInstruction& reader = function.instructions[path[i % path.size()]];
    if (reads(reader, shuffle.operands[1])) return reader.opcode == "FMNMX";
  }
  return false;
}

}  // namespace

LoopMix count_mix(const SassFunction& function, std::span<const int> path) {
  LoopMix mix;
  int flop = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const SassInstruction& instruction = function.instructions[path[i]];
    const InstructionClass unit = classify(instruction);
    ++mix.counts[static_cast<std::size_t>(unit)];
    ++mix.instructions;
    flop += tensor_flop(instruction);
    mix.lsu_wavefronts += lsu_wavefronts(instruction);
    const bool is_shared = unit == InstructionClass::kLds || unit == InstructionClass::kSts;
    if (is_shared && access_bytes(instruction) < 8) ++mix.narrow_shared_accesses;
    if (unit == InstructionClass::kShfl && !is_for_maximum(function, path, i)) ++mix.data_shuffles;
  }
  mix.mma = flop / kMmaFlop;
  return mix;
}

LoopCaps caps_of(const LoopMix& mix) {
  const auto port_time = [&mix](InstructionClass value) {
    return static_cast<double>(mix.count(value) * port_cycles(value));
  };
  const auto cap = [](double tensor_cycles, double cycles) {
    return cycles > 0.0 ? tensor_cycles / cycles : std::numeric_limits<double>::infinity();
  };
  const double tensor_cycles = kMmaCycles * mix.mma;
  const double port_cycles_beside =
      port_time(InstructionClass::kFp16) + port_time(InstructionClass::kFp64);
  return {.issue = cap(tensor_cycles, mix.instructions),
          .lsu = cap(kMmaSharedCycles * mix.mma, mix.lsu_wavefronts),
          .xu = cap(tensor_cycles, port_time(InstructionClass::kXu)),
          .fp32 = cap(tensor_cycles, port_time(InstructionClass::kFp32)),
          .alu = cap(tensor_cycles, port_time(InstructionClass::kAlu)),
          .tensor_port = cap(tensor_cycles, tensor_cycles + port_cycles_beside)};
}

}  // namespace sparkbench
