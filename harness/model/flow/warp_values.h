// What a warp holds as far as it is known: registers, predicates, convergence barriers, spilled
// registers, and where its threads are in the grid.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "harness/model/flow/kernel_launch.h"
#include "harness/model/flow/lane_words.h"
#include "harness/model/flow/operand.h"
#include "harness/model/flow/shared_accesses.h"
#include "harness/model/flow/shared_words.h"

namespace sparkbench {

class WarpValues {
 public:
  /// Warp `warp` of block `block`. `launch` and the block's `shared` memory outlive it. Registers
  /// begin with zeros: code works with whatever is in them, so that these are as good as any, and
  /// compilers keep several predicates in a word whose other bits they never set.
  WarpValues(const KernelLaunch& launch, const Extents& block, int warp, SharedWords& shared);

  /// The warp's threads: fewer than 32 in the last warp of a ragged block.
  LaneMask lanes() const { return lanes_; }

  /// As the instruction takes it, with sign and inversion; `scratch` has room for what is no plain
  /// register.
  const LaneWords& read(const SassOperand& operand, LaneWords& scratch) const;
  /// The upper word of a pair of registers, or of 8 bytes of constants; zero for RZ.
  const LaneWords& read_high(const SassOperand& operand, LaneWords& scratch) const;
  LaneTruth read_truth(const SassOperand& operand) const;
  LaneTruth predicate(int index) const { return predicates_[index]; }
  /// Of [R2.X4+0x40] and c[0x0][R47+0x168].
  LaneWords address(const SassOperand& operand) const;
  /// Words of global memory: `words` behind [R2+0x40], where R2 and R3 are a 64-bit address.
  LaneWords load_global(const SassOperand& operand, int words) const;

  void write(std::uint8_t index, const LaneWords& words, const ActiveLanes& lanes) {
    if (index != kRegisterZero) assign(registers_[index], words, lanes);
  }
  void forget(std::uint8_t index, const ActiveLanes& lanes) {
    if (index != kRegisterZero) registers_[index].known &= ~lanes.any();
  }
  void write(std::uint8_t index, const LaneTruth& truth, const ActiveLanes& lanes) {
    if (index != kPredicateTrue) assign(predicates_[index], truth, lanes);
  }

  /// Lanes that a lane meets at the convergence barrier.
  LaneWords& convergence(std::uint8_t barrier) { return convergence_[barrier]; }
  const LaneWords& convergence(std::uint8_t barrier) const { return convergence_[barrier]; }

  const ConstantBank& constants() const { return launch_.constants; }
  std::unordered_map<std::uint32_t, LaneWords>& local_memory() { return local_memory_; }
  SharedWords& shared_memory() { return shared_memory_; }
  SharedAccesses& shared_accesses() { return shared_accesses_; }

 private:
  LaneWords special(SpecialRegister which) const;
  LaneWords thread_extent(int axis) const;

  const KernelLaunch& launch_;
  Extents block_;
  int first_thread_;
  LaneMask lanes_;
  std::array<LaneWords, 256> registers_;  // the last is RZ
  std::array<LaneTruth, 8> predicates_;   // the last is PT
  std::array<LaneWords, 16> convergence_{};
  std::unordered_map<std::uint32_t, LaneWords> local_memory_;  // by address
  SharedWords& shared_memory_;
  SharedAccesses shared_accesses_;
};

}  // namespace sparkbench
