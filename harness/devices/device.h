// A device that a sweep runs on. It knows its candidates (candidate.h) and runs one on a problem.
// It knows nothing about grids, records or oracles.
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

/// A problem's inputs in the device's memory. Must not outlive the data that it was loaded from.
class LoadedProblem {
 public:
  virtual ~LoadedProblem() = default;
  /// Computes outputs from poisoned buffers. Throws if that fails.
  virtual RunOutcome run(const Candidate& candidate, const RunOptions& options) = 0;
  /// Times candidates that have run before, interleaved (harness/timing/alternation.h). Times as
  /// many as fit into memory together, at least the first; none on a device without a clock.
  virtual std::vector<Timing> time(std::span<const Candidate* const> /*candidates*/,
                                   const RunOptions& /*options*/) {
    return {};
  }
  /// Times each part of the candidate's pass. Empty for a candidate without parts, or on a device
  /// without a clock.
  virtual std::optional<PassParts> time_parts(const Candidate& /*candidate*/,
                                              const RunOptions& /*options*/) {
    return std::nullopt;
  }
  /// Launches the candidate once, with its kernels marked for an attached profiler that waits for
  /// the mark. Not on a device that profilers cannot see.
  virtual void profile(const Candidate& /*candidate*/, const RunOptions& /*options*/) {}
};

using OwnedCandidates = std::vector<std::unique_ptr<const Candidate>>;
using Candidates = std::span<const std::unique_ptr<const Candidate>>;

class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  // in the form of --device
  virtual const DeviceInfo& info() const = 0;
  /// The current state; empty for an emulated device.
  virtual std::optional<DeviceState> read_state() const { return std::nullopt; }
  /// References come first, because kernels are compared with earlier timings.
  virtual Candidates candidates() const = 0;
  /// Adds a kernel of the user's. Throws std::logic_error on a device that takes none.
  virtual void add_candidate(std::unique_ptr<const Candidate> candidate);
  virtual CheckBudget check_budget() const = 0;
  /// `gradients` is null if no backward pass will run.
  virtual std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) = 0;
  /// Throws std::logic_error on a device that emulates layers in another way (harness/encoder/).
  virtual std::unique_ptr<LoadedLayer> load_layer(const LayerWork& work);
};

/// CUDA's number of a GPU: 3 of "cuda:3". None for another device.
std::optional<int> gpu_index(const Device& device);

/// The device's candidate of that name. Throws std::invalid_argument when it has none.
const Candidate& find_candidate(const Device& device, std::string_view name);

/// The values of --device on this machine, except "auto".
std::vector<std::string> device_names();

/// "auto" is the first GPU, or else the emulated V100. Throws UsageError for an unknown name and
/// EnvironmentError for a missing GPU.
std::unique_ptr<Device> open_device(std::string_view name);

}  // namespace sparkbench
