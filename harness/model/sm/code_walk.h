// A way through machine code without values: branches follow a policy. What the values of a launch
// decide is followed by executing the code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/model/flow/warp_path.h"
#include "harness/model/sass/sass_listing.h"
#include "harness/model/sm/timed_code.h"

namespace sparkbench {

/// A branch back: instructions [head, back_edge] of the function.
struct CodeLoop {
  int head, back_edge;

  bool operator==(const CodeLoop&) const = default;
};

/// By head, and the longest first of those with one head, of which only that one is kept.
std::vector<CodeLoop> find_loops(const SassFunction& function);

/// Instructions of tensor cores in it.
int count_tensor_instructions(const SassFunction& function, CodeLoop loop);

/// The loop whose head or back edge is at `address`. Without an address, the loop with the most
/// tensor work, the shortest of equals; in code without tensor work the longest loop. Throws
/// UsageError, naming --loop.
CodeLoop pick_loop(const SassFunction& function, std::optional<std::uint32_t> address);

/// A conditional branch forward is not taken, unless it is named, or leaves a loop without another
/// exit whose turns are over; one back is taken until the turns are over. Addresses are
/// instructions'.
struct WalkPolicy {
  std::map<std::uint32_t, int> trips;  // of a loop, by the address of its head or back edge
  int default_trips = 4;
  std::set<std::uint32_t> taken;    // branches forward
  std::set<std::uint32_t> skipped;  // instructions whose predicate is false: an issue slot only
};

struct CodeWalk {
  WarpPath path;
  std::set<std::string> notes;  // what was assumed
};

/// From the loop's head to its back edge.
CodeWalk walk_loop(const SassFunction& function, CodeLoop loop, const WalkPolicy& policy);

/// From the function's entry to its end.
CodeWalk walk_whole(const SassFunction& function, const WalkPolicy& policy);

/// `path` for each warp of a block. A barrier whose number is in a register is a team's: so many
/// consecutive warps as meet there.
BlockPaths block_of(const WarpPath& path, const TimedCode& code, int warps);

}  // namespace sparkbench
