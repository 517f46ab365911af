#include "harness/model/flow/warp_walk.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

namespace sparkbench {
namespace {

using Waits = LaneGroup::Waits;

constexpr std::uint32_t kInstructionBytes = 16;

}  // namespace

WarpWalk::WarpWalk(const Program& program, const KernelLaunch& launch, const Extents& block,
                   int warp, SharedWords& shared)
    : program_(program), state_(launch, block, warp, shared), groups_(state_.lanes(), 0) {}

void WarpWalk::refuse(const char* why) {
  const std::int32_t last = path_.empty() ? 0 : path_.back().instruction;
  throw std::runtime_error(fmt::format("instruction {:#x}: {}", program_.address(last), why));
}

WarpPath WarpWalk::walk(std::uint64_t max_steps) {
  while (!groups_.is_done()) {
    if (path_.size() >= max_steps) refuse("the path is too long; a loop may not end");
    step();
  }
  return std::move(path_);
}

/// A guard divides the group's lanes.
ActiveLanes WarpWalk::lanes_of(const ProgramStep& step) {
  const LaneMask lanes = groups_.current().lanes;
  if (!step.has_guard) return {lanes, 0};
  const LaneTruth guard = state_.read_truth(step.guard);
  return {lanes & guard.is_true(), lanes & ~guard.known};
}

void WarpWalk::step() {
  const std::int32_t next = groups_.current().next;
  if (next < 0 || next >= program_.size()) refuse("leads out of the function");
  const ProgramStep& step = program_[next];
  const ActiveLanes lanes = lanes_of(step);
  path_.push_back({.instruction = next, .is_executed = lanes.any() != 0});
  if (step.control != Control::kNone && step.control != Control::kUnlisted) {
    return control(step, lanes);
  }
  ++groups_.current().next;
  if (lanes.any() == 0) return;
  if (step.control == Control::kUnlisted) notes_.add(next, PathDoubt::kUnlisted);
  step.execute(state_, step.operands, lanes);
}

void WarpWalk::control(const ProgramStep& step, const ActiveLanes& lanes) {
  if (step.control == Control::kBranch) return branch(step);
  const LaneMask executes = executing(step, lanes);
  LaneGroup& group = groups_.current();
  if (executes == 0) {
    ++group.next;
    return;
  }
  if (step.control == Control::kExit) return exit(executes);
  if (executes != group.lanes) groups_.part(group.lanes & ~executes, group.next + 1);
  switch (step.control) {
    case Control::kConvergedBranch:
    case Control::kDivergedBranch:
      return branch_of_convergence(step);
    case Control::kCall:
      return call(step);
    case Control::kReturn:
      return return_from_call(step);
    case Control::kIndexedBranch:
      return jump_indexed(step);
    case Control::kMeet:
      return meet(step);
    case Control::kBreak:
      return leave_barrier(step, executes);
    case Control::kMeetWarp:
      return meet_warp(step);
    default:
      return block_barrier(step);
  }
}

/// Threads that execute a control instruction other than a branch; those that only may continue.
LaneMask WarpWalk::executing(const ProgramStep& step, const ActiveLanes& lanes) {
  if (lanes.possible == 0) return lanes.certain;
  const bool is_end = step.control == Control::kExit;
  notes_.add(groups_.current().next, is_end ? PathDoubt::kUnknownEnd : PathDoubt::kUnknownBranch);
  return lanes.certain;
}

void WarpWalk::branch(const ProgramStep& step) {
  LaneTruth decision = LaneTruth::all(true);
  if (step.has_guard) decision = state_.read_truth(step.guard);
  if (step.operands.condition_count > 0) {
    decision = decision & state_.read_truth(step.operands.conditions[0]);
  }
  LaneGroup& group = groups_.current();
  LaneMask taken = group.lanes & decision.is_true();
  if (const LaneMask unknown = group.lanes & ~decision.known; unknown != 0) {
    notes_.add(group.next, PathDoubt::kUnknownBranch);
    if (step.leads_around_call) taken |= unknown;
  }
  if (taken == group.lanes) return jump(step.target);
  if (taken != 0) {
    if (step.target < 0) refuse("leads out of the function");
    groups_.part(taken, step.target);
  }
  ++groups_.current().next;
}

void WarpWalk::jump(std::int32_t target) {
  if (target < 0) refuse("leads out of the function");
  path_.back().is_taken = true;
  groups_.current().next = target;
}

void WarpWalk::branch_of_convergence(const ProgramStep& step) {
  const bool is_for_converged = step.control == Control::kConvergedBranch;
  if (groups_.is_converged() == is_for_converged) return jump(step.target);
  ++groups_.current().next;
}

void WarpWalk::call(const ProgramStep& step) {
  LaneGroup& group = groups_.current();
  group.returns.push_back(group.next + 1);
  jump(step.target);
}

/// To the address in a register, or, where a linker had yet to write that, behind the call.
void WarpWalk::return_from_call(const ProgramStep& step) {
  LaneGroup& group = groups_.current();
  LaneWords scratch;
  const LaneWords& to = state_.read(step.operands.sources[0], scratch);
  const int lane = std::countr_zero(group.lanes);
  const std::int32_t behind_call = group.returns.empty() ? -1 : group.returns.back();
  if (!group.returns.empty()) group.returns.pop_back();
  if (!has_lane(to.known, lane) && behind_call < 0) refuse("returns to an unknown address");
  jump(has_lane(to.known, lane) ? program_.at(to.value[lane]) : behind_call);
}

/// "BRX R4 -0x1a0": from behind the instruction.
void WarpWalk::jump_indexed(const ProgramStep& step) {
  const std::uint32_t index = known_word(step.operands.sources[0], "jumps to an unknown address");
  const std::uint32_t from = program_.address(groups_.current().next) + kInstructionBytes;
  jump(program_.at(from + index + step.operands.sources[1].value));
}

void WarpWalk::exit(LaneMask lanes) {
  LaneGroup& group = groups_.current();
  const std::int32_t instruction = group.next;
  if (lanes != group.lanes) groups_.part(group.lanes & ~lanes, instruction + 1);
  if (!groups_.end()) notes_.add(instruction, PathDoubt::kNeverMet);
}

/// BREAK: the others wait for these no longer.
void WarpWalk::leave_barrier(const ProgramStep& step, LaneMask lanes) {
  LaneWords& convergence = state_.convergence(step.operands.sources[0].index);
  for (std::uint32_t& meets : convergence.value) meets &= ~lanes;
  ++groups_.current().next;
}

void WarpWalk::meet(const ProgramStep& step) {
  LaneGroup& group = groups_.current();
  const std::int32_t instruction = group.next;
  const std::uint8_t barrier = step.operands.sources[0].index;
  const LaneWords& convergence = state_.convergence(barrier);
  const int lane = std::countr_zero(group.lanes);
  const LaneMask meets = has_lane(convergence.known, lane) ? convergence.value[lane] : 0;
  if (!groups_.wait(Waits::kAtBarrier, barrier, meets)) {
    notes_.add(instruction, PathDoubt::kNeverMet);
  }
}

void WarpWalk::meet_warp(const ProgramStep& step) {
  const std::int32_t instruction = groups_.current().next;
  const LaneMask meets = known_word(step.operands.sources[0], "waits for unknown threads");
  if (!groups_.wait(Waits::kForWarp, 0, meets)) notes_.add(instruction, PathDoubt::kNeverMet);
}

/// "BAR.SYNC 0x0", "BAR.SYNC R0, 0x40": which barrier, and how many threads meet there.
void WarpWalk::block_barrier(const ProgramStep& step) {
  const OperationOperands& operands = step.operands;
  PathStep& of_path = path_.back();
  if (operands.source_count > 0) {
    of_path.barrier = static_cast<std::int16_t>(
        known_word(operands.sources[0], "is a barrier of unknown number"));
  }
  if (operands.source_count > 1) {
    const std::uint32_t threads =
        known_word(operands.sources[1], "is a barrier of an unknown number of threads");
    of_path.barrier_warps = static_cast<std::int16_t>(threads / kLanes);
  }
  ++groups_.current().next;
}

/// What the group's lanes have in common.
std::uint32_t WarpWalk::known_word(const SassOperand& operand, const char* what) {
  LaneWords scratch;
  const LaneWords& words = state_.read(operand, scratch);
  const LaneMask lanes = groups_.current().lanes;
  if ((lanes & ~words.known) != 0) refuse(what);
  const std::uint32_t word = words.value[std::countr_zero(lanes)];
  for (int i = 0; i < kLanes; ++i) {
    if (has_lane(lanes, i) && words.value[i] != word) refuse(what);
  }
  return word;
}

}  // namespace sparkbench
