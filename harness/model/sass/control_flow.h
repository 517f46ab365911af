// The basic blocks of a function and the loops among them.
#pragma once

#include <vector>

#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

/// Instructions [begin, end) that are executed one after the other.
struct BasicBlock {
  int begin, end;
  std::vector<int> successors;  // blocks; what follows in memory comes first
};

/// In memory order; block 0 is the entry. A call returns to the instruction after it; a branch to a
/// register's value leads nowhere.
std::vector<BasicBlock> basic_blocks(const SassFunction& function);

/// Blocks that an edge back to `header` closes, where every way into them leads through `header`
/// (a natural loop). Code that the compiler moved behind the loop is a part of it.
struct NaturalLoop {
  int header;
  std::vector<int> blocks;  // ascending, header among them

  bool contains(int block) const;
};

/// One for each header, in memory order.
std::vector<NaturalLoop> natural_loops(const std::vector<BasicBlock>& blocks);

}  // namespace sparkbench
