// What a sweep runs on. A device knows its contenders (the kernels and references that it can
// compute) and runs one of them on one problem; it knows nothing of grids, records or oracles.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problems/gradient_data.h"
#include "harness/problems/problem_data.h"
#include "harness/timing/timing.h"
#include "kernels/registry.h"
#include "results/record/run_record.h"

namespace sparkbench {

/// A kernel or a reference, as `--kernel` names it.
struct Contender {
  std::string name;
  std::string summary;
  Role role;
  std::optional<Accumulator> accumulator;  // of its scores
  const AttentionKernel* kernel;           // null for a reference and a peer
  /// A peer: its mask is not that of kernels/dropout.h, so it is verified without dropout.
  bool draws_own_dropout_mask = false;
};

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

/// What one contender did on one problem.
struct RunOutcome {
  ForwardRows rows;         // the plan's rows of O and LSE, of a forward pass
  HalfGradients gradients;  // the plan's rows, of a pass with a backward
  std::optional<EmulationReport> emulation;
  std::uint64_t workspace_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;    // of tensors and workspace, measured
  std::optional<bool> is_bitwise_repeatable;  // two runs on the same inputs gave the same bits
  std::optional<PassOutputs> outputs;         // when they are to be kept
};

/// A problem's inputs in the device's memory. Must not outlive what it was loaded from.
class LoadedProblem {
 public:
  virtual ~LoadedProblem() = default;
  /// Computes outputs from poisoned buffers; throws what goes wrong.
  virtual RunOutcome run(const Contender& contender, const RunOptions& options) = 0;
  /// Times the contenders, which have been run, in turns (harness/timing/alternation.h). Of as many
  /// as memory holds at once, at least the first; of none on a device without a clock.
  virtual std::vector<Timing> time(std::span<const Contender* const> /*contenders*/,
                                   const RunOptions& /*options*/) {
    return {};
  }
  /// Launches the contender once, its kernels marked for a profiler that is attached and has been
  /// told to wait for them. Not on a device that no profiler sees.
  virtual void profile(const Contender& /*contender*/, const RunOptions& /*options*/) {}
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  // as --device spells it
  virtual const DeviceInfo& info() const = 0;
  /// The references first: kernels are compared with what was timed before them.
  virtual std::span<const Contender> contenders() const = 0;
  /// How this device multiplies for the contender: a kernel's own instruction may run on other
  /// units than the tensor cores that an unfused computation uses.
  virtual const ArithmeticProfile& arithmetic_of(const Contender& contender) const = 0;
  virtual CheckBudget check_budget() const = 0;
  /// `gradients` is null when no backward pass will be run.
  virtual std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) = 0;
};

/// Names that --device takes on this machine; "auto" is not among them.
std::vector<std::string> device_names();

/// "auto" is the first GPU, else the emulated V100. Throws UsageError for a name that is no
/// device's, EnvironmentError for a GPU that is not there.
std::unique_ptr<Device> open_device(std::string_view name);

}  // namespace sparkbench
