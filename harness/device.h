// What a sweep runs on. A device knows its contenders (the kernels and references that it can
// compute) and runs one of them on one problem; it knows nothing of grids, records or oracles.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/gradient_data.h"
#include "harness/problem_data.h"
#include "kernels/registry.h"
#include "results/run_record.h"

namespace sparkbench {

/// A kernel or a reference, as `--kernel` names it.
struct Contender {
  std::string name;
  std::string summary;
  Role role;
  std::optional<Accumulator> accumulator;  // of its MMAs
  const AttentionKernel* kernel;           // null for a reference
};

/// How samples are taken on a GPU.
struct TimingOptions {
  bool is_wanted = true;
  bool flushes_l2 = true;   // --cache cold
  double warmup_ms = 25.0;  // of running the kernel before the first sample
  int min_samples = 20;
  double max_noise = 0.005;   // relative standard error of the mean at which sampling may stop
  double max_seconds = 10.0;  // of sampling one case
};

struct Timing {
  std::vector<double> samples_ms;
  std::string stop_reason;
};

struct RunOptions {
  Pass pass = Pass::kForward;
  bool is_deterministic = false;  // of the backward pass
  TimingOptions timing;
};

/// What one contender did on one problem.
struct RunOutcome {
  ForwardRows rows;         // the plan's rows of O and LSE, of a forward pass
  HalfGradients gradients;  // the plan's rows, of a pass with a backward
  std::optional<Timing> timing;
  std::optional<EmulationReport> emulation;
  std::uint64_t workspace_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;
  std::optional<bool> is_bitwise_repeatable;  // two runs on the same inputs gave the same bits
};

/// A problem's inputs in the device's memory. Must not outlive what it was loaded from.
class LoadedProblem {
 public:
  virtual ~LoadedProblem() = default;
  /// Computes outputs from poisoned buffers; throws what goes wrong.
  virtual RunOutcome run(const Contender& contender, const RunOptions& options) = 0;
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
