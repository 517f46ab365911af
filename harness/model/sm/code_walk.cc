#include "harness/model/sm/code_walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "harness/model/sass/instruction_class.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::size_t kLongestPath = 2'000'000;

/// Instructions to which branches go.
std::vector<std::optional<int>> branch_targets(const SassFunction& function) {
  const auto& code = function.instructions;
  std::vector<std::optional<int>> targets(code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!code[i].target) continue;
    const auto found = std::lower_bound(
        code.begin(), code.end(), *code[i].target,
        [](const SassInstruction& one, std::uint32_t address) { return one.address < address; });
    if (found != code.end() && found->address == *code[i].target) {
      targets[i] = static_cast<int>(found - code.begin());
    }
  }
  return targets;
}

class Walker {
 public:
  Walker(const SassFunction& function, const WalkPolicy& policy)
      : function_(function),
        policy_(policy),
        targets_(branch_targets(function)),
        loops_(find_loops(function)),
        visits_(function.instructions.size()) {}

  /// Up to the instruction `last`, or to the end.
  CodeWalk walk(int first, std::optional<int> last) {
    last_ = last;
    int next = first;
    while (next < size() && !is_over_) next = step(next);
    return std::move(walk_);
  }

 private:
  int size() const { return static_cast<int>(function_.instructions.size()); }
  const SassInstruction& at(int index) const { return function_.instructions[index]; }

  void add(int index, bool is_taken, bool is_executed = true) {
    if (walk_.path.size() == kLongestPath) {
      throw UsageError(
          fmt::format("--trips: the way through {} has over {} instructions; allowed: fewer turns",
                      function_.symbol, kLongestPath));
    }
    walk_.path.push_back({.instruction = index, .is_taken = is_taken, .is_executed = is_executed});
  }

  int finish(int index, bool is_taken) {
    add(index, is_taken);
    is_over_ = true;
    return index;
  }

  /// Adds the instruction; returns what comes after it.
  int step(int index) {
    const SassInstruction& instruction = at(index);
    if (index == last_) return finish(index, true);
    if (instruction.is_never_executed() || policy_.skipped.contains(instruction.address)) {
      add(index, false, false);
      return index + 1;
    }
    const bool ends = instruction.opcode == "EXIT" || instruction.opcode == "RET";
    if (ends && !instruction.is_conditional()) return finish(index, false);
    if (targets_[index]) return branch(index, *targets_[index]);
    if (instruction.opcode == "CALL" || instruction.opcode == "BRX" ||
        instruction.opcode == "JMX") {
      walk_.notes.insert(fmt::format("{} at {:#x} is passed over: where it goes is not known",
                                     instruction.opcode, instruction.address));
    }
    add(index, false);
    return index + 1;
  }

  int branch(int index, int target) {
    is_over_ = target == index;  // behind a kernel's end
    if (is_over_) return index;
    const std::optional<bool> goes =
        target < index ? goes_back(index, target) : goes_forward(index, target);
    is_over_ = !goes;
    if (!goes) return index;
    add(index, *goes);
    return *goes ? target : index + 1;
  }

  int turns(int back_edge, int head) const {
    for (const int index : {back_edge, head}) {
      const auto given = policy_.trips.find(at(index).address);
      if (given != policy_.trips.end()) return given->second;
    }
    return policy_.default_trips;
  }

  bool has_turns(int back_edge, int head) const {
    return policy_.trips.contains(at(back_edge).address) ||
           policy_.trips.contains(at(head).address);
  }

  /// Nothing: a loop without an exit, which ends the walk.
  std::optional<bool> goes_back(int index, int target) {
    const int wanted = turns(index, target);
    if (!has_turns(index, target)) {
      walk_.notes.insert(fmt::format("loop {:#x}..{:#x}: {} turns assumed (--trips {:#x}=N)",
                                     at(target).address, at(index).address, wanted,
                                     at(target).address));
    }
    ++visits_[index];
    if (at(index).is_conditional()) return visits_[index] % wanted != 0;
    if (visits_[index] < wanted * 4 + 64) return true;
    walk_.notes.insert(
        fmt::format("the loop at {:#x} has no way out: ended there", at(index).address));
    return std::nullopt;
  }

  bool goes_forward(int index, int target) {
    if (!at(index).is_conditional()) return true;
    bool goes = policy_.taken.contains(at(index).address);
    for (const CodeLoop& loop : loops_) {
      if (leaves(index, target, loop) && is_out_of_turns(loop)) goes = true;
    }
    if (!goes) {
      walk_.notes.insert(fmt::format("branch {:#x} {} assumed not taken (--taken {:#x})",
                                     at(index).address, text_of(at(index)), at(index).address));
    }
    return goes;
  }

  /// Out of a loop whose branch back is always taken.
  bool leaves(int index, int target, const CodeLoop& loop) const {
    return loop.head <= index && index < loop.back_edge && target > loop.back_edge &&
           at(loop.back_edge).predicate.empty() && loop.back_edge != last_;
  }

  bool is_out_of_turns(const CodeLoop& loop) {
    int& visits = visits_[loop.back_edge];
    if (visits < turns(loop.back_edge, loop.head)) return false;
    visits = 0;
    return true;
  }

  const SassFunction& function_;
  const WalkPolicy& policy_;
  std::vector<std::optional<int>> targets_;
  std::vector<CodeLoop> loops_;
  std::vector<int> visits_;  // of each branch back
  std::optional<int> last_;
  CodeWalk walk_;
  bool is_over_ = false;
};

int flop_of(const SassFunction& function, const CodeLoop& loop) {
  int flop = 0;
  for (int i = loop.head; i <= loop.back_edge; ++i) flop += tensor_flop(function.instructions[i]);
  return flop;
}

}  // namespace

std::vector<CodeLoop> find_loops(const SassFunction& function) {
  const auto targets = branch_targets(function);
  std::map<int, int> back_edges;  // by head
  for (int i = 0; i < static_cast<int>(targets.size()); ++i) {
    const SassInstruction& instruction = function.instructions[i];
    if (instruction.opcode != "BRA" || instruction.is_never_executed()) continue;
    if (targets[i] && *targets[i] < i) back_edges[*targets[i]] = i;
  }
  std::vector<CodeLoop> loops;
  loops.reserve(back_edges.size());
  for (const auto& [head, back_edge] : back_edges) loops.push_back({head, back_edge});
  return loops;
}

int count_tensor_instructions(const SassFunction& function, CodeLoop loop) {
  const auto begin = function.instructions.begin();
  return static_cast<int>(
      std::count_if(begin + loop.head, begin + loop.back_edge + 1,
                    [](const SassInstruction& one) { return tensor_flop(one) > 0; }));
}

CodeLoop pick_loop(const SassFunction& function, std::optional<std::uint32_t> address) {
  const std::vector<CodeLoop> loops = find_loops(function);
  if (loops.empty()) {
    throw UsageError(
        fmt::format("--function: {} has no loop; allowed: with --whole", function.symbol));
  }
  if (address) {
    std::string known;
    for (const CodeLoop& loop : loops) {
      const std::uint32_t head = function.instructions[loop.head].address;
      if (head == *address || function.instructions[loop.back_edge].address == *address) {
        return loop;
      }
      known += fmt::format("{}{:#x}", known.empty() ? "" : ", ", head);
    }
    throw UsageError(
        fmt::format("--loop: no loop begins or ends at {:#x}; allowed: {}", *address, known));
  }
  const auto weight = [&](const CodeLoop& loop) {
    return std::pair(flop_of(function, loop), loop.head - loop.back_edge);
  };
  const bool has_tensor_work = std::any_of(
      loops.begin(), loops.end(), [&](const CodeLoop& one) { return flop_of(function, one) > 0; });
  return *std::max_element(loops.begin(), loops.end(), [&](const auto& one, const auto& other) {
    if (has_tensor_work) return weight(one) < weight(other);
    return one.back_edge - one.head < other.back_edge - other.head;
  });
}

CodeWalk walk_loop(const SassFunction& function, CodeLoop loop, const WalkPolicy& policy) {
  CodeWalk walk = Walker(function, policy).walk(loop.head, loop.back_edge);
  if (walk.path.empty() || walk.path.back().instruction != loop.back_edge) {
    walk.notes.insert("the way leaves the loop before its end (--taken, --loop)");
  }
  return walk;
}

CodeWalk walk_whole(const SassFunction& function, const WalkPolicy& policy) {
  return Walker(function, policy).walk(0, std::nullopt);
}

BlockPaths block_of(const WarpPath& path, const TimedCode& code, int warps) {
  BlockPaths block(warps, path);
  for (int warp = 0; warp < warps; ++warp) {
    for (PathStep& step : block[warp]) {
      const auto& barrier = code.instructions[step.instruction].barrier;
      if (!barrier) continue;
      const int meeting = barrier->threads / 32;
      const int team = kNumberedBarriers + (meeting == 0 ? 0 : warp / meeting);
      step.barrier_warps = static_cast<std::int16_t>(meeting);
      step.barrier = static_cast<std::int16_t>(barrier->id.value_or(team));
    }
  }
  return block;
}

}  // namespace sparkbench
