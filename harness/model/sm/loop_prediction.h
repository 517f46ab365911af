// What the cycle model says of a loop, or of a whole function, of any machine code for sm_70.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/model/sm/code_walk.h"
#include "harness/model/sm/cycle_bounds.h"
#include "harness/model/sm/machine_constants.h"
#include "harness/model/sm/sm_simulator.h"
#include "harness/model/sm/timed_code.h"

namespace sparkbench {

struct PredictionRequest {
  SmConstants constants;
  BankConflicts conflicts;
  int threads = 0;                    // of a block
  int blocks = 1;                     // that an SM holds
  bool is_whole = false;              // from entry to end; else a loop
  std::optional<std::uint32_t> loop;  // by address; absent: the one with the most tensor work
  WalkPolicy policy;
  std::vector<int> offsets = {400};  // between the starts of blocks; the answer is the mean
  int warm = 2;
  int measured = 8;
};

struct OffsetCycles {
  int offset;
  double cycles;  // a pass of all warps
};

struct LoopPrediction {
  std::optional<CodeLoop> loop;  // absent: the whole function
  CodeWalk walk;
  TimedCode code;
  int warps = 0;                      // of the SM
  double cycles = 0.0;                // a pass of all warps, the mean over the offsets
  std::vector<OffsetCycles> offsets;  // as asked for
  std::int64_t flop = 0;              // of the tensor cores, a pass of all warps
  std::vector<CycleBound> bounds;
  SmResult first;  // of the first offset: what the warps wait for

  /// Share of the tensor cores' peak.
  double tensor_share() const { return static_cast<double>(flop) / (cycles * kTensorFlopPerCycle); }
};

/// Throws UsageError for a request that cannot be carried out, naming the flag.
LoopPrediction predict_loop(const SassFunction& function, const PredictionRequest& request);

struct ConstantSensitivity {
  std::string name;
  double least, most;                      // values
  double cycles_at_least, cycles_at_most;  // change of the prediction, relative
};

/// Each constant that is in doubt alone at both ends of its range, and the offset between blocks
/// ("offset"), if there are several.
std::vector<ConstantSensitivity> sensitivity_of(const SassFunction& function,
                                                const PredictionRequest& request,
                                                const LoopPrediction& prediction);

}  // namespace sparkbench
