#include "harness/model/sm/sm_simulator.h"

#include <stdexcept>

#include "harness/model/sm/sm_simulation.h"

namespace sparkbench {
namespace {

[[noreturn]] void refuse(const char* why) { throw std::invalid_argument(why); }

void check_path(const WarpPath& path, std::size_t instructions) {
  if (path.empty()) refuse("a warp has no instruction");
  for (const PathStep& step : path) {
    if (step.instruction < 0 || static_cast<std::size_t>(step.instruction) >= instructions) {
      refuse("a path leads out of the code");
    }
    if (step.barrier < 0 || step.barrier >= kBarriers) {
      refuse("a barrier has a number that no block has");
    }
  }
}

void check_marks(const SmWork& work) {
  if (work.repeats && !work.marks.empty()) refuse("paths that repeat have no marks");
  for (const PathMark& mark : work.marks) {
    const auto is_index = [](int index, std::size_t size) {
      return index >= 0 && static_cast<std::size_t>(index) < size;
    };
    if (!is_index(mark.block, work.blocks.size()) ||
        !is_index(mark.warp, work.blocks[mark.block]->size()) ||
        !is_index(mark.position, (*work.blocks[mark.block])[mark.warp].size())) {
      refuse("a mark is on no warp's path");
    }
  }
}

void check_work(const TimedCode& code, const SmWork& work) {
  if (work.blocks.empty() || work.start_offsets.empty()) refuse("no block to simulate");
  if (work.blocks.size() < work.start_offsets.size()) refuse("fewer blocks than start offsets");
  if (work.repeats && work.blocks.size() != work.start_offsets.size()) {
    refuse("blocks that repeat leave no place for others");
  }
  if (work.repeats && (work.measured < 1 || work.warm < 0)) refuse("no pass to measure");
  const std::size_t warps = work.blocks.front()->size();
  if (warps == 0 || warps > 32) refuse("a block has 1 to 32 warps");
  for (const BlockPaths* block : work.blocks) {
    if (block->size() != warps) refuse("blocks of one kernel have equally many warps");
    for (const WarpPath& path : *block) check_path(path, code.instructions.size());
  }
  check_marks(work);
}

}  // namespace

std::vector<int> staggered_starts(int blocks, int offset) {
  std::vector<int> starts(blocks);
  for (int block = 0; block < blocks; ++block) starts[block] = block * offset;
  return starts;
}

SmResult simulate(const TimedCode& code, const SmWork& work) {
  check_work(code, work);
  return SmSimulation(code, work).run();
}

}  // namespace sparkbench
