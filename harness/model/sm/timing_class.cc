#include "harness/model/sm/timing_class.h"

#include <algorithm>
#include <array>

#include "harness/model/sass/instruction_class.h"

namespace sparkbench {
namespace {

constexpr std::array<std::string_view, kTimingClasses> kTimingClassNames = {
    "HMMA.F32", "HMMA.F16", "FP16", "FP64",  "FMA", "ALU", "XU",  "SHFL",   "LDS",     "STS",
    "ATOMS",    "LDG",      "STG",  "ATOMG", "LDL", "LDC", "S2R", "MEMBAR", "control", "other"};

struct MemoryOpcodes {
  TimingClass value;
  std::string_view opcodes;  // a space around each
};

constexpr MemoryOpcodes kMemoryOpcodes[] = {
    {TimingClass::kShfl, " SHFL MATCH "},
    {TimingClass::kLds, " LDS "},
    {TimingClass::kSts, " STS "},
    {TimingClass::kAtoms, " ATOMS "},
    {TimingClass::kLdg, " LDG LD TEX TLD "},
    {TimingClass::kStg, " STG ST STL RED "},
    {TimingClass::kAtomg, " ATOM ATOMG "},
    {TimingClass::kLdl, " LDL "},
    {TimingClass::kLdc, " LDC "},
    {TimingClass::kS2r, " S2R B2R "},
    {TimingClass::kMembar, " MEMBAR "},
};

TimingClass tensor_class_of(const SassInstruction& instruction) {
  const auto& modifiers = instruction.modifiers;  // 884, the result's type, the accumulator's, step
  const bool is_f16 = modifiers.size() > 1 && modifiers[1] == "F16";
  return is_f16 ? TimingClass::kHmmaF16 : TimingClass::kHmmaF32;
}

TimingClass memory_class_of(const SassInstruction& instruction) {
  const std::string word = " " + instruction.opcode + " ";
  for (const MemoryOpcodes& entry : kMemoryOpcodes) {
    if (entry.opcodes.find(word) != std::string_view::npos) return entry.value;
  }
  return TimingClass::kOther;
}

}  // namespace

std::string_view name_of(TimingClass value) {
  return kTimingClassNames[static_cast<std::size_t>(value)];
}

TimingClass timing_class_of(const SassInstruction& instruction) {
  SassInstruction always = instruction;
  always.predicate.clear();  // an @!PT is of its class; it only is not executed
  switch (classify(always)) {
    case InstructionClass::kTensor:
      return tensor_class_of(instruction);
    case InstructionClass::kFp32:
      return TimingClass::kFma;
    case InstructionClass::kAlu:
      return TimingClass::kAlu;
    case InstructionClass::kFp16:
      return TimingClass::kFp16;
    case InstructionClass::kFp64:
      return TimingClass::kFp64;
    case InstructionClass::kXu:
      return TimingClass::kXu;
    case InstructionClass::kBarrier:
    case InstructionClass::kControl:
      return TimingClass::kControl;
    default:
      return memory_class_of(instruction);
  }
}

Port port_of(TimingClass value) {
  switch (value) {
    case TimingClass::kHmmaF32:
    case TimingClass::kHmmaF16:
    case TimingClass::kFp16:
    case TimingClass::kFp64:
      return Port::kTensor;
    case TimingClass::kFma:
      return Port::kFma;
    case TimingClass::kAlu:
      return Port::kAlu;
    case TimingClass::kXu:
      return Port::kXu;
    default:
      return Port::kNone;
  }
}

bool goes_to_mio(TimingClass value) {
  return value >= TimingClass::kShfl && value <= TimingClass::kMembar;
}

bool uses_data_path(TimingClass value) {
  return value >= TimingClass::kShfl && value <= TimingClass::kLdl;
}

bool goes_to_l2(TimingClass value) {
  return value == TimingClass::kLdg || value == TimingClass::kStg || value == TimingClass::kAtomg;
}

int latency_of(TimingClass value, const SmConstants& c) {
  const std::array<int, kTimingClasses> latencies = {
      c.hmma_f32_latency, c.hmma_f16_latency, c.fp16_latency,    c.fp64_latency,
      c.fma_latency,      c.alu_latency,      c.xu_latency,      c.shfl_latency,
      c.lds_latency,      c.sts_latency,      c.atoms_latency,   c.ldg_latency,
      c.stg_latency,      c.atomg_latency,    c.ldl_latency,     c.ldc_latency,
      c.s2r_latency,      c.membar_latency,   c.control_latency, c.control_latency};
  return latencies[static_cast<std::size_t>(value)];
}

int hold_of(TimingClass value, const SmConstants& c) {
  const std::array<int, 7> holds = {c.hmma_f32_hold, c.hmma_f16_hold, c.fp16_hold, c.fp64_hold,
                                    c.fma_hold,      c.alu_hold,      c.xu_hold};
  const auto index = static_cast<std::size_t>(value);
  return index < holds.size() ? holds[index] : 1;
}

}  // namespace sparkbench
