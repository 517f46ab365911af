#include "harness/model/sass/tensor_loops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "harness/model/sass/control_flow.h"
#include "harness/model/sass/instruction_class.h"

namespace sparkbench {
namespace {

/// What the instructions of a block or of a path add up to.
struct Work {
  int flop = 0, masks = 0;
  int left_out = 0;  // branches past a block of mask code
};

bool is_preferred(const Work& a, const Work& b) {
  return std::tie(b.flop, a.masks, a.left_out) < std::tie(a.flop, b.masks, b.left_out);
}

std::vector<Work> work_of_blocks(const SassFunction& function, const std::vector<bool>& is_mask,
                                 const std::vector<BasicBlock>& blocks) {
  std::vector<Work> works;
  for (const BasicBlock& block : blocks) {
    Work& work = works.emplace_back();
    for (int i = block.begin; i < block.end; ++i) {
      work.flop += tensor_flop(function.instructions[i]);
      work.masks += is_mask[i] ? 1 : 0;
    }
  }
  return works;
}

/// Finds the preferred way from a block of the loop to its head; a way that meets itself is none.
class PassFinder {
 public:
  PassFinder(const std::vector<BasicBlock>& blocks, const std::vector<Work>& works,
             const NaturalLoop& loop)
      : blocks_(blocks), works_(works), loop_(loop), steps_(blocks.size()) {}

  /// The blocks of a pass, head first.
  std::vector<int> pass() {
    std::vector<int> path;
    solve(loop_.header);
    for (int block = loop_.header; path.empty() || block != loop_.header;
         block = steps_[block].next) {
      path.push_back(block);
    }
    return path;
  }

 private:
  struct Step {
    bool is_visited = false;
    std::optional<Work> work;  // up to the head; absent where no way leads there, or not yet known
    int next = -1;
  };

  std::optional<Work> work_from(int block) {
    if (block == loop_.header) return Work{};
    if (!loop_.contains(block)) return std::nullopt;
    if (!steps_[block].is_visited) solve(block);
    return steps_[block].work;
  }

  void solve(int block) {
    steps_[block].is_visited = true;
    for (const int next : blocks_[block].successors) {
      std::optional<Work> work = work_from(next);
      if (!work) continue;
      work->flop += works_[block].flop;
      work->masks += works_[block].masks;
      work->left_out += static_cast<int>(
          std::count_if(blocks_[block].successors.begin(), blocks_[block].successors.end(),
                        [&](int other) { return other != next && works_[other].masks > 0; }));
      if (!steps_[block].work || is_preferred(*work, *steps_[block].work)) {
        steps_[block].work = work;
        steps_[block].next = next;
      }
    }
  }

  const std::vector<BasicBlock>& blocks_;
  const std::vector<Work>& works_;
  const NaturalLoop& loop_;
  std::vector<Step> steps_;
};

TensorLoop trace(const std::vector<BasicBlock>& blocks, const std::vector<Work>& works,
                 const NaturalLoop& loop) {
  TensorLoop traced{};
  traced.first = blocks[loop.blocks.front()].begin;
  traced.last = blocks[loop.blocks.back()].end - 1;
  for (const int block : loop.blocks) {
    traced.instructions += blocks[block].end - blocks[block].begin;
  }
  for (const int block : PassFinder(blocks, works, loop).pass()) {
    const auto [begin, end, successors] = blocks[block];
    for (int i = begin; i < end; ++i) traced.path.push_back(i);
    traced.tensor_flop += works[block].flop;
    traced.masks += works[block].masks;
  }
  return traced;
}

}  // namespace

std::vector<TensorLoop> find_tensor_loops(const SassFunction& function,
                                          const std::vector<bool>& is_mask) {
  const std::vector<BasicBlock> blocks = basic_blocks(function);
  const std::vector<Work> works = work_of_blocks(function, is_mask, blocks);
  std::vector<NaturalLoop> loops = natural_loops(blocks);
  std::erase_if(loops, [&](const NaturalLoop& loop) {
    return std::none_of(loop.blocks.begin(), loop.blocks.end(),
                        [&](int block) { return works[block].flop > 0; });
  });
  std::vector<TensorLoop> found;
  for (const NaturalLoop& loop : loops) {
    const bool has_inner = std::any_of(loops.begin(), loops.end(), [&](const NaturalLoop& other) {
      return other.header != loop.header && loop.contains(other.header);
    });
    if (!has_inner) found.push_back(trace(blocks, works, loop));
  }
  std::stable_sort(found.begin(), found.end(), [](const TensorLoop& a, const TensorLoop& b) {
    return std::tuple(-a.tensor_flop, a.masks, a.path.size()) <
           std::tuple(-b.tensor_flop, b.masks, b.path.size());
  });
  return found;
}

}  // namespace sparkbench
