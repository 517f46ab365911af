#include "harness/model/flow/program.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sparkbench {
namespace {

constexpr std::array<std::pair<std::string_view, Control>, 13> kControls = {{
    {"BRA", Control::kBranch},
    {"JMP", Control::kBranch},
    {"BRX", Control::kIndexedBranch},
    {"JMX", Control::kIndexedBranch},
    {"CALL", Control::kCall},
    {"RET", Control::kReturn},
    {"EXIT", Control::kExit},
    {"KILL", Control::kExit},
    {"BSYNC", Control::kMeet},
    {"BREAK", Control::kBreak},
    {"WARPSYNC", Control::kMeetWarp},
    {"BAR", Control::kBarrier},
    {"BPT", Control::kExit},  // a trap
}};

Control control_of(const SassInstruction& instruction) {
  const auto found = std::find_if(kControls.begin(), kControls.end(), [&](const auto& control) {
    return control.first == instruction.opcode;
  });
  if (found == kControls.end()) {
    return find_operation(instruction.opcode) != nullptr ? Control::kNone : Control::kUnlisted;
  }
  if (instruction.has_modifier("CONV")) return Control::kConvergedBranch;
  if (instruction.has_modifier("DIV")) return Control::kDivergedBranch;
  return found->second;
}

/// Operands of control are all read.
constexpr Operation kReading{"", nullptr, false, 0};

ProgramStep step_of(const SassInstruction& instruction, const ConstantBank& constants) {
  ProgramStep step;
  step.control = control_of(instruction);
  const bool is_control = step.control != Control::kNone && step.control != Control::kUnlisted;
  const Operation& operation = is_control ? kReading : operation_of(instruction.opcode);
  step.execute = operation.execute;
  step.operands = read_operands(instruction, operation, constants);
  step.has_guard = instruction.is_conditional();
  if (step.has_guard) step.guard = parse_operand(instruction.predicate, constants);
  return step;
}

/// The jump's destination, if the listing has it: the last number among its operands.
const SassOperand* last_number(const OperationOperands& operands) {
  const int count = operands.source_count;
  if (count == 0 || !operands.sources[count - 1].is(SassOperand::Kind::kValue)) return nullptr;
  return &operands.sources[count - 1];
}

bool has_target(Control control) {
  return control == Control::kBranch || control == Control::kConvergedBranch ||
         control == Control::kDivergedBranch || control == Control::kCall;
}

}  // namespace

Program::Program(const SassFunction& function, const ConstantBank& constants) {
  for (const SassInstruction& instruction : function.instructions) {
    steps_.push_back(step_of(instruction, constants));
    addresses_.push_back(instruction.address);
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const SassInstruction& instruction = function.instructions[i];
    ProgramStep& step = steps_[i];
    // An absolute call leaves the function.
    if (!has_target(step.control) || instruction.has_modifier("ABS")) continue;
    if (instruction.target) {
      step.target = at(*instruction.target);
    } else if (const SassOperand* const target = last_number(step.operands)) {
      step.target = at(target->value);
    }
  }
  find_rare_code();
}

std::int32_t Program::at(std::uint32_t address) const {
  const auto found = std::lower_bound(addresses_.begin(), addresses_.end(), address);
  if (found == addresses_.end() || *found != address) return -1;
  return static_cast<std::int32_t>(found - addresses_.begin());
}

void Program::find_rare_code() {
  for (std::int32_t i = 0; i < size(); ++i) {
    ProgramStep& step = steps_[i];
    if (step.control != Control::kBranch || step.target <= i) continue;
    step.leads_around_call = leads_to_call(i + 1) && !leads_to_call(step.target);
  }
}

/// Whether a call is the first thing to change the order of what follows.
bool Program::leads_to_call(std::int32_t instruction) const {
  for (std::int32_t i = instruction; i < size(); ++i) {
    const Control control = steps_[i].control;
    if (control == Control::kNone || control == Control::kUnlisted) continue;
    return control == Control::kCall;
  }
  return false;
}

}  // namespace sparkbench
