// Executes a kernel's integers, predicates and jumps for one warp: the path that the masks, the
// lengths and the block's place in the grid make it take. What comes from memory is unknown; where
// it decides a branch, the branch is not taken, unless it leads around a call.
#pragma once

#include <cstdint>

#include "harness/model/flow/lane_groups.h"
#include "harness/model/flow/path_notes.h"
#include "harness/model/flow/program.h"
#include "harness/model/flow/warp_path.h"

namespace sparkbench {

/// Steps of a block beyond which a path is taken to be endless.
inline constexpr std::uint64_t kMaxBlockSteps = 20'000'000;

class WarpWalk {
 public:
  /// `shared` is what earlier warps of the block have left.
  WarpWalk(const Program& program, const KernelLaunch& launch, const Extents& block, int warp,
           SharedWords& shared);

  /// From the entry to the end of the last thread. Groups of threads that a branch has parted come
  /// one after the other: a step then follows another without a jump between. Throws
  /// std::runtime_error, naming the address, where a jump or a barrier depends on what is unknown,
  /// where the path leaves the function, and after `max_steps`.
  WarpPath walk(std::uint64_t max_steps);

  const PathNotes& notes() const { return notes_; }
  const SharedAccesses& shared_accesses() { return state_.shared_accesses(); }

 private:
  ActiveLanes lanes_of(const ProgramStep& step);
  void step();
  void control(const ProgramStep& step, const ActiveLanes& lanes);
  void branch(const ProgramStep& step);
  void branch_of_convergence(const ProgramStep& step);
  void jump(std::int32_t target);
  void call(const ProgramStep& step);
  void return_from_call(const ProgramStep& step);
  void jump_indexed(const ProgramStep& step);
  void exit(LaneMask lanes);
  void leave_barrier(const ProgramStep& step, LaneMask lanes);
  void meet(const ProgramStep& step);
  void meet_warp(const ProgramStep& step);
  void block_barrier(const ProgramStep& step);
  LaneMask executing(const ProgramStep& step, const ActiveLanes& lanes);
  std::uint32_t known_word(const SassOperand& operand, const char* what);
  [[noreturn]] void refuse(const char* why);

  const Program& program_;
  WarpValues state_;
  LaneGroups groups_;
  PathNotes notes_;
  WarpPath path_;
};

}  // namespace sparkbench
