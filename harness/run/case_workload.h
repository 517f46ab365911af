// What a case computes: attention (attention_workload.cc) or an encoder layer
// (harness/encoder/layer_workload.cc). Planning and running are the same for both, and ask a
// workload for the rest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "harness/plan/run_settings.h"

namespace sparkbench {

class CaseWorkload {
 public:
  virtual ~CaseWorkload() = default;
  virtual bool computes(const CaseProblem& problem) const = 0;

  /// The command that repeats a case.
  virtual const char* command() const = 0;
  /// Whether the candidate computes it, as far as is known before trying.
  virtual Support supports(const Candidate& candidate, const CaseProblem& problem) const {
    return candidate.supports_case(problem);
  }
  /// Sets FLOPs, bytes and memory of the record's problem.
  virtual void start(const Candidate& candidate, CaseRecord& record) const = 0;
  /// Why a case that the candidate supports is not run; nothing when it is.
  virtual std::optional<Reason> why_not_run(const CaseRecord& record) const = 0;
  /// FLOPs of the host: the oracle's, and on an emulated device the kernel's.
  virtual double host_flops(const CaseRecord& planned) const = 0;

  /// Loads the problem, unless the last case had the same, then computes, verifies if `is_verified`
  /// and times it. Throws what goes wrong.
  virtual void run(const Candidate& candidate, bool is_verified, CaseRecord& record) = 0;
  /// After a failure the device is in doubt: the next case loads its problem again.
  virtual void forget() = 0;
  /// The last case's outputs, if the settings keep them. Moves them out.
  virtual std::optional<PassOutputs> take_outputs() { return std::nullopt; }
  /// Moves the errors of `judged`, the same case without dropout, into `record`.
  virtual void take_errors(CaseRecord& judged, CaseRecord& record) const;
};

std::unique_ptr<CaseWorkload> make_attention_workload(Device& device, const RunSettings& settings);
std::unique_ptr<CaseWorkload> make_layer_workload(Device& device, const RunSettings& settings);

class Workloads {
 public:
  Workloads(Device& device, const RunSettings& settings);

  CaseWorkload& of(const CaseProblem& problem) const;

 private:
  std::vector<std::unique_ptr<CaseWorkload>> workloads_;
};

/// Reads --tensors. Throws UsageError.
std::shared_ptr<const OwnInputs> read_own_inputs(Workload workload, const std::string& path);

}  // namespace sparkbench
