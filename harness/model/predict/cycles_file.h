// kernels/volta/cycles.json: the cycles that every Volta kernel takes by the SM model, measured
// from its machine code (harness/model/measure/). The file is compiled into the program, which then
// predicts without a GPU and without a disassembler.
//   {"schema": 4, "sm": 70, "toolkit": "11.8", "instances": {
//     "volta-fp32acc/fwd/d64": {"code_hash": "...", "threads": 128, "blocks_per_sm": 2,
//       "loop_bytes": 27000, "binding": "tensor",
//       "forwarded": [[prologue, full tile, cut tile, epilogue, next head, more part,
//                     idle part], ...],
//       "no-reuse": ...}}}
// Each assumption has an array of seven cycles for each number of resident blocks, from 1 on.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// Assumptions on what nobody has published of a V100, the fastest first. Each includes those
/// before it. Only the first is measured on a V100 (machine_constants.h, [C]).
enum class ChipAssumption {
  kForwarded,  // an HMMA's accumulator is forwarded to the next one
  kNoReuse,    // and an HMMA with neither operand in the reuse cache takes one cycle more
  kSupply16,   // and instructions beyond the L0 cache arrive at 16 bytes a clock and scheduler
  kSupply8,    // at 8 bytes
};
inline constexpr int kChipAssumptions = 4;

/// "forwarded", "no-reuse", "supply-16", "supply-8"
std::string_view name_of(ChipAssumption assumption);

/// The names of all, the fastest first.
std::vector<std::string> chip_assumption_names();

/// Cycles of an SM whose resident blocks, all of one kernel, are at the same stage. A tile's cycles
/// are the time in which each of these blocks does one tile: the mean over start offsets.
///
/// A partial tile is done in parts, half of it or all of it. In a forward pass each warp leaves out
/// the parts that its rows do not see, and the scheduler whose warps have most of them decides when
/// the block goes on. What the others lack to it leaves units of the SM, and their schedulers, to
/// other warps. A backward kernel that skips half steps does a part in each team: `cut_tile`
/// is the cost with half a step in every team, `more_part` is added per team with a whole one.
struct StageCycles {
  double prologue;       // outside of tiles: the share before the first product
  double full_tile;      // a step of the main loop
  double cut_tile;       // a step whose tile the mask cuts, with one part for each scheduler
  double epilogue;       // the share after the last product
  double next_head = 0;  // between two heads of one block; 0 where a block has one head
  double more_part = 0;  // for each part of a cut tile beyond a scheduler's first
  double idle_part = 0;  // saved for each part that a scheduler lacks to the busiest
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

struct CyclesFile {
  int sm = 70;
  std::string toolkit;                    // whose ptxas made the code: "11.8"
  std::vector<InstanceCycles> instances;  // ids differ
  /// By which the likely time goes. Not in the file: a V100's calibration tells.
  ChipAssumption likely = ChipAssumption::kForwarded;

  /// Null when there is none of that id.
  const InstanceCycles* find(std::string_view id) const;
};

/// Throws std::invalid_argument, one line that names the field, says what is wrong with it, and
/// what is allowed. Nothing is left out or added.
CyclesFile cycles_from_json(std::string_view text);

/// In the order of the ids, a line for an instance's head and for each assumption; cycles to a
/// hundredth.
std::string cycles_to_json(const CyclesFile& file);

/// What a V100 was found to be like: the `findings.assumption` of what `sparkbench-model predict
/// --calibrate` wrote. Throws std::invalid_argument where there is none, as for another GPU.
ChipAssumption calibrated_assumption(std::string_view calibration_json);

/// kernels/volta/cycles.json as it was when this program was configured; `likely` is by
/// harness/model/v100_calibration.json where there was one.
const CyclesFile& embedded_cycles();

}  // namespace sparkbench
