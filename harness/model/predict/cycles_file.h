// kernels/volta/cycles.json: what the cycle model says of every instance, as text that is
// committed, and read again when a program predicts.
//   {"schema": 3, "sm": 70, "toolkit": "11.8", "instances": {
//     "volta-fp32acc/fwd/d64": {"code_hash": "...", "threads": 128, "blocks_per_sm": 2,
//       "loop_bytes": 27000, "binding": "tensor",
//       "forwarded": [[prologue, full tile, cut tile, epilogue, next head, more part], ...],
//       "no-reuse": ...}}}
// with an array of six cycles for each number of resident blocks, from 1 on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/model/predict/instance_cycles.h"

namespace sparkbench {

struct CyclesFile {
  int sm = 70;
  std::string toolkit;                    // whose ptxas made the code: "11.8"
  std::vector<InstanceCycles> instances;  // ids differ

  /// Null when there is none of that id.
  const InstanceCycles* find(std::string_view id) const;
};

/// Throws std::invalid_argument, one line that names the field, says what is wrong with it, and
/// what is allowed. Nothing is left out or added.
CyclesFile cycles_from_json(std::string_view text);

/// In the order of the ids, a line for an instance's head and for each assumption; cycles to a
/// hundredth.
std::string cycles_to_json(const CyclesFile& file);

/// kernels/volta/cycles.json as it was when this program was configured.
const CyclesFile& embedded_cycles();

}  // namespace sparkbench
