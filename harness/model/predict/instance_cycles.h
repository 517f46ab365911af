// What the cycle model says of every Volta kernel as it is compiled: kernels/volta/cycles.json,
// which is part of the program, so that a machine without a GPU or a disassembler can predict.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/sm/chip_assumption.h"

namespace sparkbench {

/// Cycles of an SM that holds a number of blocks of one kernel, all at the same stage: a tile's is
/// the time in which each of these blocks does one tile (the mean over the blocks' start offsets).
///
/// Of a pattern's tile a forward pass's warps leave out what their rows do not see of it: a *part*
/// is what a warp computes or leaves out as a whole, half of a tile or all of it. A block goes on
/// when all of its warps have done their parts, so the scheduler with most of them says when. Of a
/// backward pass that leaves out halves of a step's keys they are the steps of a cut tile, one a
/// team: in a cut tile of no more parts all are halves, and each that is whole is one more.
struct StageCycles {
  double prologue;       // of what is no tile, the share before the first product
  double full_tile;      // a step of the main loop
  double cut_tile;       // a step in which the mask hides some of the tile; where schedulers have
                         // several parts, one of which each has one to do; of half steps alone
  double epilogue;       // and behind the last one
  double next_head = 0;  // from the last tile of a head to the first of the next, in the same
                         // block; 0 of kernels whose blocks have one head
  double more_part = 0;  // for each part of a cut tile beyond one that a scheduler has to do, or
                         // each whole step of it
};

struct InstanceCycles {
  std::string id;         // of the KernelInstance
  std::string code_hash;  // of the machine code that was read, 16 hexadecimal digits
  int threads;
  int blocks_per_sm;
  int loop_bytes;       // of code that one step of the main loop executes
  std::string binding;  // what takes longest in the main loop: "tensor", "issue", "lsu", ...
  /// [assumption][resident blocks - 1]
  std::array<std::vector<StageCycles>, kChipAssumptions> stages;
};

}  // namespace sparkbench
