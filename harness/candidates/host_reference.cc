#include "harness/candidates/host_reference.h"

#include "harness/candidates/known_candidates.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"
#include "sweeps/memory.h"

namespace sparkbench {

HostReference::HostReference(int sm) : Candidate(kUnfusedFp16), sm_(sm) {}

Support HostReference::supports(const Problem& /*problem*/, Pass /*pass*/) const { return {}; }

std::uint64_t HostReference::workspace_bytes(const Problem& problem, Pass pass,
                                             bool /*is_deterministic*/) const {
  return unfused_workspace_bytes(pass, problem, sizeof(Half));
}

const ArithmeticProfile& HostReference::arithmetic() const { return tensor_core_profile(sm_); }

RunOutcome HostReference::run_on_host(const HostWork& work) const {
  const TensorCores tensor_cores{arithmetic()};
  const Problem& problem = work.data.problem();
  const Pass pass = work.options.pass;
  RunOutcome outcome;
  if (pass != Pass::kBackward) {
    outcome.rows =
        unfused_forward(problem, work.data.inputs(), work.data.plan().rows, tensor_cores);
  }
  if (pass == Pass::kForward) return outcome;
  const GradientRows& rows = work.gradients->plan().rows;
  if (pass == Pass::kBackward) {
    outcome.gradients = unfused_backward(problem, work.gradients->inputs(), rows, tensor_cores);
  } else {
    const RoundedForward own = work.gradients->forward_with(work.data.plan().rows, outcome.rows);
    outcome.gradients =
        unfused_backward(problem, work.gradients->inputs_after(own), rows, tensor_cores);
  }
  return outcome;
}

}  // namespace sparkbench
