// The unfused computation on the host, with the arithmetic of a GPU's tensor cores.
#pragma once

#include "harness/candidates/candidate.h"

namespace sparkbench {

class HostReference : public Candidate {
 public:
  /// With the tensor cores of compute capability `sm`.
  explicit HostReference(int sm);

  Support supports(const Problem& problem, Pass pass) const override;
  /// For a GPU that stores the scores; the host does not store them.
  std::uint64_t workspace_bytes(const Problem& problem, Pass pass,
                                bool is_deterministic) const override;
  const ArithmeticProfile& arithmetic() const override;
  RunOutcome run_on_host(const HostWork& work) const override;

 private:
  int sm_;
};

}  // namespace sparkbench
