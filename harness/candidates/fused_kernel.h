// A kernel of ours, fused or a chain of kernels, on a GPU or on an emulated one.
#pragma once

#include "harness/candidates/candidate.h"

namespace sparkbench {

class FusedKernel : public Candidate {
 public:
  /// `kernel` must be the registry's.
  FusedKernel(const AttentionKernel& kernel, const KernelDevice& device);

  bool runs_unnamed() const override;
  Support supports(const Problem& problem, Pass pass) const override;
  std::uint64_t workspace_bytes(const Problem& problem, Pass pass,
                                bool is_deterministic) const override;
  /// Throws std::logic_error if the device lacks the kernel's instruction.
  const ArithmeticProfile& arithmetic() const override;
  EmulationOptions emulation_options() const override;
  std::optional<Warning> why_time_is_invalid() const override;
  bool add_mask_plan(const Problem& problem, MaskWork& work) const override;
  RunOutcome run_on_host(const HostWork& work) const override;
  Prepared prepare(const GpuWork& work) const override;

 private:
  /// The workspace of its plan, without lists and tables of the mask.
  std::uint64_t plan_bytes(const Problem& problem, Pass pass, bool is_deterministic,
                           const MaskTables* tables) const;

  const AttentionKernel& kernel_;
  KernelDevice device_;
};

}  // namespace sparkbench
