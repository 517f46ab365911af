// A kernel that is not part of sparkbench, as a candidate: it is verified, timed and recorded like
// ours.
#pragma once

#include "harness/plugin/plugin_candidate.h"

namespace sparkbench {

class PluginKernel : public PluginCandidate {
 public:
  using PluginCandidate::PluginCandidate;

  Support supports(const Problem& problem, Pass pass) const override {
    return supports_problem(problem, {}, pass, nullptr);
  }
  Support supports_case(const CaseProblem& problem) const override {
    return supports_problem(problem, {problem.element, problem.layout}, problem.pass, nullptr);
  }
  std::uint64_t workspace_bytes(const Problem& problem, Pass pass,
                                bool is_deterministic) const override {
    return workspace_of(problem, {}, pass, is_deterministic);
  }
  std::uint64_t case_workspace_bytes(const CaseProblem& problem,
                                     bool is_deterministic) const override {
    return workspace_of(problem, {problem.element, problem.layout}, problem.pass, is_deterministic);
  }

  /// Computes the whole problem, twice, to see whether the bits repeat, on copies of the inputs. A
  /// backward pass starts from the kernel's own forward pass, as on a GPU. Throws
  /// std::runtime_error with the kernel's own words if a call fails or if it wrote to an input,
  /// UnsupportedError and OutOfDeviceMemory if it says so.
  RunOutcome run_on_host(const HostWork& work) const override;
  Prepared prepare(const GpuWork& work) const override;

 private:
  std::uint64_t workspace_of(const Problem& problem, const TensorFormat& format, Pass pass,
                             bool is_deterministic) const;
};

}  // namespace sparkbench
