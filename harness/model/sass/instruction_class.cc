#include "harness/model/sass/instruction_class.h"

#include <algorithm>
#include <array>

namespace sparkbench {
namespace {

struct ClassOpcodes {
  InstructionClass value;
  std::string_view opcodes;  // a space around each
};

constexpr ClassOpcodes kOpcodes[] = {
    {InstructionClass::kTensor, " HMMA HGMMA "},
    {InstructionClass::kFp32, " FFMA FADD FMUL FFMA32I FADD32I FMUL32I FSWZADD IMAD IMUL IDP "},
    {InstructionClass::kAlu,
     " IADD3 IADD IADD32I LOP3 LOP LOP32I SHF SHL SHR LEA SEL MOV MOV32I PRMT ISETP FSETP FSET "
     "FMNMX IMNMX FSEL PLOP3 PSETP P2R R2P VOTE CS2R IABS BMSK SGXT FCHK VABSDIFF ICMP ISET "
     "LEPC GETLMEMBASE "},
    {InstructionClass::kFp16, " HFMA2 HADD2 HMUL2 HSETP2 HSET2 HFMA2_32I HADD2_32I HMUL2_32I "},
    {InstructionClass::kFp64, " DFMA DADD DMUL DSETP DMNMX DSET "},
    {InstructionClass::kXu, " MUFU F2F F2I I2F I2I FRND POPC FLO BREV "},
    {InstructionClass::kLds, " LDS "},
    {InstructionClass::kSts, " STS ATOMS "},
    {InstructionClass::kShfl, " SHFL MATCH "},
    {InstructionClass::kLdg, " LDG LD TEX TLD "},
    {InstructionClass::kStg, " STG ST RED ATOM ATOMG "},
    {InstructionClass::kLocal, " LDL STL "},
    {InstructionClass::kBarrier, " BAR "},
    {InstructionClass::kControl,
     " BRA BRX JMP JMX CALL RET EXIT NOP BSSY BSYNC BREAK BMOV WARPSYNC YIELD DEPBAR NANOSLEEP "
     "KILL BPT ERRBAR RTT PMTRIG CCTL CCTLL "},
};

constexpr std::array<std::string_view, kInstructionClasses> kClassNames = {
    "tensor", "fp32", "alu", "fp16",  "fp64",    "xu",      "lds",  "sts",
    "shfl",   "ldg",  "stg", "local", "barrier", "control", "other"};

}  // namespace

std::string_view name_of(InstructionClass value) {
  return kClassNames[static_cast<std::size_t>(value)];
}

InstructionClass classify(const SassInstruction& instruction) {
  if (instruction.is_never_executed()) return InstructionClass::kControl;
  const std::string word = " " + instruction.opcode + " ";
  const auto found =
      std::find_if(std::begin(kOpcodes), std::end(kOpcodes), [&](const ClassOpcodes& entry) {
        return entry.opcodes.find(word) != std::string_view::npos;
      });
  return found == std::end(kOpcodes) ? InstructionClass::kOther : found->value;
}

int port_cycles(InstructionClass value) {
  switch (value) {
    case InstructionClass::kFp32:
    case InstructionClass::kAlu:
    case InstructionClass::kFp16:
      return 2;
    case InstructionClass::kFp64:
      return 4;
    case InstructionClass::kXu:
      return 8;
    default:
      return 0;
  }
}

int tensor_flop(const SassInstruction& instruction) {
  const auto& modifiers = instruction.modifiers;
  if (classify(instruction) != InstructionClass::kTensor || modifiers.size() < 2) return 0;
  if (modifiers[0] != "884") return 0;
  return modifiers[1] == "F16" ? 1024 : 512;
}

int access_bytes(const SassInstruction& instruction) {
  struct Width {
    std::string_view modifier;
    int bytes;
  };
  constexpr Width kWidths[] = {{"128", 16}, {"64", 8}, {"U16", 2},
                               {"S16", 2},  {"U8", 1}, {"S8", 1}};
  for (const Width& width : kWidths) {
    if (instruction.has_modifier(width.modifier)) return width.bytes;
  }
  return 4;
}

int lsu_wavefronts(const SassInstruction& instruction) {
  switch (classify(instruction)) {
    case InstructionClass::kShfl:
      return 1;
    case InstructionClass::kLds:
    case InstructionClass::kSts:
    case InstructionClass::kLdg:
    case InstructionClass::kStg:
    case InstructionClass::kLocal:
      return std::max(1, 32 * access_bytes(instruction) / 128);
    default:
      return 0;
  }
}

}  // namespace sparkbench
