#include "harness/model/sass/control_flow.h"

#include <algorithm>
#include <map>
#include <set>

namespace sparkbench {
namespace {

bool ends_block(const SassInstruction& instruction) {
  return instruction.opcode == "BRA" || instruction.opcode == "JMP" ||
         instruction.opcode == "BRX" || instruction.opcode == "EXIT" || instruction.opcode == "RET";
}

/// The block that begins at each address where one begins, with `end` still open.
std::map<std::uint32_t, int> block_starts(const std::vector<SassInstruction>& code) {
  std::set<std::uint32_t> starts = {code.front().address};
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].target) starts.insert(*code[i].target);
    if (ends_block(code[i]) && i + 1 < code.size()) starts.insert(code[i + 1].address);
  }
  std::map<std::uint32_t, int> blocks;
  for (const std::uint32_t start : starts) blocks.emplace(start, static_cast<int>(blocks.size()));
  return blocks;
}

std::vector<int> successors_of(const std::vector<SassInstruction>& code, int last,
                               const std::map<std::uint32_t, int>& starts) {
  const SassInstruction& instruction = code[last];
  const bool is_last = last + 1 == static_cast<int>(code.size());
  std::vector<int> successors;
  if (!is_last && (!ends_block(instruction) || instruction.is_conditional())) {
    successors.push_back(starts.at(code[last + 1].address));
  }
  if (instruction.target && !instruction.is_never_executed()) {
    successors.push_back(starts.at(*instruction.target));
  }
  return successors;
}

using Edges = std::vector<std::vector<int>>;

/// Which blocks a walk from `start` along `edges` meets; it does not enter `barred`.
std::vector<bool> reachable(const Edges& edges, int start, int barred) {
  std::vector<bool> seen(edges.size());
  std::vector<int> open = {start};
  while (!open.empty()) {
    const int block = open.back();
    open.pop_back();
    if (block == barred || seen[block]) continue;
    seen[block] = true;
    const auto& next = edges[block];
    open.insert(open.end(), next.begin(), next.end());
  }
  return seen;
}

struct FlowEdges {
  Edges forward, backward;
};

FlowEdges edges_of(const std::vector<BasicBlock>& blocks) {
  FlowEdges edges{Edges(blocks.size()), Edges(blocks.size())};
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    edges.forward[block] = blocks[block].successors;
    for (const int next : blocks[block].successors) {
      edges.backward[next].push_back(static_cast<int>(block));
    }
  }
  return edges;
}

}  // namespace

std::vector<BasicBlock> basic_blocks(const SassFunction& function) {
  const std::vector<SassInstruction>& code = function.instructions;
  if (code.empty()) return {};
  const auto starts = block_starts(code);
  std::vector<BasicBlock> blocks;
  for (int i = 0; i < static_cast<int>(code.size()); ++i) {
    if (starts.contains(code[i].address)) blocks.push_back({i, i, {}});
    blocks.back().end = i + 1;
  }
  for (BasicBlock& block : blocks) block.successors = successors_of(code, block.end - 1, starts);
  return blocks;
}

bool NaturalLoop::contains(int block) const {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

std::vector<NaturalLoop> natural_loops(const std::vector<BasicBlock>& blocks) {
  if (blocks.empty()) return {};
  const FlowEdges edges = edges_of(blocks);
  const std::vector<bool> live = reachable(edges.forward, 0, -1);
  std::vector<NaturalLoop> loops;
  for (int header = 0; header < static_cast<int>(blocks.size()); ++header) {
    // A block that only a walk through the header reaches is dominated by it.
    const std::vector<bool> bypassed = reachable(edges.forward, 0, header);
    std::set<int> members;
    for (const int latch : edges.backward[header]) {
      if (!live[latch] || bypassed[latch]) {
        continue;
      }
      members.insert(header);
      const std::vector<bool> body = reachable(edges.backward, latch, header);
      for (std::size_t block = 0; block < body.size(); ++block) {
        if (body[block]) members.insert(static_cast<int>(block));
      }
    }
    if (!members.empty()) loops.push_back({header, {members.begin(), members.end()}});
  }
  return loops;
}

}  // namespace sparkbench
