// What a sweep runs on. A device knows its candidates (candidate.h) and runs one of them on one
// problem; it knows nothing of grids, records or oracles.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/candidates/candidate.h"
#include "harness/devices/run_outcome.h"
#include "harness/encoder/loaded_layer.h"
#include "results/record/run_record.h"

namespace sparkbench {

/// A problem's inputs in the device's memory. Must not outlive what it was loaded from.
class LoadedProblem {
 public:
  virtual ~LoadedProblem() = default;
  /// Computes outputs from poisoned buffers; throws what goes wrong.
  virtual RunOutcome run(const Candidate& candidate, const RunOptions& options) = 0;
  /// Times the candidates, which have been run, in turns (harness/timing/alternation.h). Of as many
  /// as memory holds at once, at least the first; of none on a device without a clock.
  virtual std::vector<Timing> time(std::span<const Candidate* const> /*candidates*/,
                                   const RunOptions& /*options*/) {
    return {};
  }
  /// Times each part of the candidate's pass. Nothing for a candidate without parts, or on a device
  /// without a clock.
  virtual std::optional<PassParts> time_parts(const Candidate& /*candidate*/,
                                              const RunOptions& /*options*/) {
    return std::nullopt;
  }
  /// Launches the candidate once, its kernels marked for a profiler that is attached and has been
  /// told to wait for them. Not on a device that no profiler sees.
  virtual void profile(const Candidate& /*candidate*/, const RunOptions& /*options*/) {}
};

using OwnedCandidates = std::vector<std::unique_ptr<const Candidate>>;
using Candidates = std::span<const std::unique_ptr<const Candidate>>;

class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  // as --device spells it
  virtual const DeviceInfo& info() const = 0;
  /// What it does now; nothing of one that is emulated.
  virtual std::optional<DeviceState> read_state() const { return std::nullopt; }
  /// The references first: kernels are compared with what was timed before them.
  virtual Candidates candidates() const = 0;
  virtual CheckBudget check_budget() const = 0;
  /// `gradients` is null when no backward pass will be run.
  virtual std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) = 0;
  /// Throws std::logic_error on a device that emulates layers otherwise (harness/cases/).
  virtual std::unique_ptr<LoadedLayer> load_layer(const LayerWork& work);
};

/// Names that --device takes on this machine; "auto" is not among them.
std::vector<std::string> device_names();

/// "auto" is the first GPU, else the emulated V100. Throws UsageError for a name that is no
/// device's, EnvironmentError for a GPU that is not there.
std::unique_ptr<Device> open_device(std::string_view name);

}  // namespace sparkbench
