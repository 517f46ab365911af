// A kernel that is not part of sparkbench, as a candidate: it is verified, timed and recorded like
// ours.
#pragma once

#include <optional>

#include "harness/candidates/candidate.h"
#include "harness/plugin/kernel_library.h"
#include "harness/plugin/plugin_problem.h"

namespace sparkbench {

class PluginKernel : public Candidate {
 public:
  /// On the GPU with CUDA's number `index` or, without one, on an emulated device, which stands for
  /// the host. `is_deterministic`: what the cases' backward passes must be.
  PluginKernel(CheckedKernel kernel, const DeviceInfo& device, std::optional<int> index,
               bool is_deterministic);

  std::string flag_item() const override { return kernel_.spec; }
  /// Also asks the kernel.
  Support supports(const Problem& problem, Pass pass) const override;
  Support supports_case(const CaseProblem& problem) const override;
  std::uint64_t workspace_bytes(const Problem& problem, Pass pass,
                                bool is_deterministic) const override;
  /// That of the device's tensor cores, for the unfused computation that sets its tolerance.
  const ArithmeticProfile& arithmetic() const override;
  /// Its version, if known, by its name, and the hash of its file by the file's name.
  Libraries libraries() const override;
  bool draws_own_dropout_mask() const override { return kernel_.table.draws_own_dropout != 0; }
  bool writes_lse() const override { return kernel_.table.has_no_lse == 0; }
  bool computes_samples() const override { return false; }

  /// Computes the whole problem, twice, to see whether the bits repeat, on copies of the inputs. A
  /// backward pass starts from the kernel's own forward pass, as on a GPU. Throws
  /// std::runtime_error with the kernel's own words if a call fails or if it wrote to an input,
  /// UnsupportedError and OutOfDeviceMemory if it says so.
  RunOutcome run_on_host(const HostWork& work) const override;
  Prepared prepare(const GpuWork& work) const override;

  const CheckedKernel& kernel() const { return kernel_; }

 private:
  bool takes(ElementType element) const;
  Support ask(const Problem& problem, ElementType element, Pass pass) const;

  CheckedKernel kernel_;
  int sm_;
  PluginDevice device_;
  bool is_deterministic_;
};

}  // namespace sparkbench
