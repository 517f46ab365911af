// A function as it is executed for one launch: operands read, constants of the launch filled in.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/flow/operation.h"

namespace sparkbench {

/// What an instruction does to the order of instructions.
enum class Control : std::uint8_t {
  kNone,
  kUnlisted,         // none that is known: an opcode that no table has
  kBranch,           // BRA
  kConvergedBranch,  // BRA.CONV: taken by a warp that is together
  kDivergedBranch,   // BRA.DIV: taken by one that is not
  kIndexedBranch,    // BRX: to where a register says
  kCall,
  kReturn,
  kExit,
  kMeet,      // BSYNC
  kBreak,     // leaves those who meet
  kMeetWarp,  // WARPSYNC
  kBarrier,   // BAR: of the block
};

struct ProgramStep {
  Control control = Control::kNone;
  bool leads_around_call = false;  // a branch past code that the compiler takes to be rare
  bool has_guard = false;
  SassOperand guard;         // the predicate in front
  std::int32_t target = -1;  // of a jump: an instruction
  Execute execute = nullptr;
  OperationOperands operands;
};

class Program {
 public:
  Program(const SassFunction& function, const ConstantBank& constants);

  const ProgramStep& operator[](std::int32_t instruction) const { return steps_[instruction]; }
  std::int32_t size() const { return static_cast<std::int32_t>(steps_.size()); }
  /// The instruction at the address; -1 when there is none.
  std::int32_t at(std::uint32_t address) const;
  std::uint32_t address(std::int32_t instruction) const { return addresses_[instruction]; }

 private:
  void find_rare_code();
  bool leads_to_call(std::int32_t instruction) const;

  std::vector<ProgramStep> steps_;
  std::vector<std::uint32_t> addresses_;
};

}  // namespace sparkbench
