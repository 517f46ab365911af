// What is asked of a run of a candidate on a problem, and what it gives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/run/problems/gradient_data.h"
#include "harness/run/problems/problem_data.h"
#include "harness/timing/timing.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench {

struct RunOptions {
  Pass pass = Pass::kForward;
  bool is_deterministic = false;  // of the backward pass
  bool keeps_outputs = false;     // of a kernel, for which the plan then samples no tiles
  TimingOptions timing;
};

/// Every output of a pass, whole, in the layouts of ForwardTensors and BackwardTensors; empty what
/// it does not compute. Kept outputs have o and lse, by the same kernel, of a backward pass too.
struct PassOutputs {
  std::vector<Half> o, dq, dk, dv;
  std::vector<float> lse;
};

/// What one candidate did on one problem.
struct RunOutcome {
  ForwardRows rows;  // the plan's rows of O and LSE, of a pass with a forward or kept outputs
  HalfGradients gradients;  // the plan's rows, of a pass with a backward
  std::optional<EmulationReport> emulation;
  std::uint64_t workspace_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;    // of tensors and workspace, measured
  std::optional<bool> is_bitwise_repeatable;  // two runs on the same inputs gave the same bits
  std::optional<PassOutputs> outputs;         // when they are to be kept
};

}  // namespace sparkbench
