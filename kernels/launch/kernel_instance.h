// A kernel as it is compiled: a row of its folder's table, from which launch, emulation, `inspect`
// and its gates take names.
#pragma once

#include <string_view>

#include "kernels/base/element_type.h"
#include "kernels/machine/mma_instruction.h"
#include "kernels/problem/attention.h"
#include "kernels/tile/block_source.h"

namespace sparkbench {

class EmulatedMachine;

/// A thread of a kernel on the emulated machine. `params` are a launch's (plan.h).
using EmulatedBody = void(EmulatedMachine& machine, const void* params);

/// What the main loop of a fast kernel keeps to: the limits of harness/model/sass/code_gates.h.
struct CodeLimits {
  int barriers = 4;            // at most, while a block goes over barrier_columns
  int barrier_columns = 0;     // of the score matrix: keys, or queries of a "bwd"
  double data_shuffles = 2.0;  // at most, for 8 scores of a lane
  double cap = 1.2;            // at least, of issue and of the load-store unit
};

struct KernelInstance {
  std::string_view id;  // "volta-fp32acc/fwd/d64/dropout": kernel, pass, and what tells it apart
  std::string_view symbol;  // in machine code: an extern "C" name, the same in every build
  MmaInstruction instruction;
  Accumulator accumulator;  // of the scores
  ElementType element = ElementType::kFp16;
  int head_dim;        // the most that it serves, by the products that it has
  int least_head_dim;  // the fewest, by zeros: as many unless it is padded
  bool has_dropout;
  BlockSource blocks;
  int products;              // matrix products over all scores, of equal work; 0: none
  int threads;               // of a block
  int dynamic_shared_bytes;  // of a block
  int block_rows;            // of the score matrix that a block owns: queries, or keys of a "bwd"
  int step_columns;          // over which it goes at a time: keys, or queries of a "bwd"
  int teams = 1;             // of its warps, each with steps of its own, out of step
  bool relays_dq = false;    // kernels/volta/backward/relay_plan.h says of which problems
  int short_window = 0;      // above 0 its blocks are short: kernels/volta/short_blocks.h
  bool has_halves = false;   // a warp computes one half of a tile of which it sees no other
  bool halves_steps =
      false;              // a step, of a team, leaves out a half of its keys that it sees none of
  bool has_runs = false;  // its blocks go over rows in runs: kernels/hopper/row_form.h
  int most_visits = 0;    // above 0 it carries dQ: kernels/hopper/dq_form.h
  int most_tiles = 0;
  int blocks_per_sm = 1;  // that an SM holds, where a launch has no more than those
  int seen_rows = 32;     // that are computed together where one of them sees a tile
  CodeLimits limits;
  /// On the emulated machine, and in this build's GPU code: null where there is none.
  EmulatedBody* emulate = nullptr;
  const void* function = nullptr;

  constexpr bool is_padded() const { return least_head_dim < head_dim; }
  constexpr bool serves(int dim) const {
    return dim >= least_head_dim && dim <= head_dim && dim % 8 == 0;
  }
  constexpr std::string_view kernel() const { return id.substr(0, id.find('/')); }
  constexpr std::string_view pass() const {  // "fwd", "bwd", "bwd-dq", ...
    const std::string_view rest = id.substr(id.find('/') + 1);
    return rest.substr(0, rest.find('/'));
  }
};

/// A kernel of no family, over rows or lists.
KernelInstance shared_kernel(std::string_view id, std::string_view symbol, int threads,
                             int block_rows, int dynamic_shared_bytes, EmulatedBody* emulate);

}  // namespace sparkbench
