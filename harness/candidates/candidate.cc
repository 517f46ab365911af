#include "harness/candidates/candidate.h"

#include <fmt/format.h>

#include <stdexcept>

namespace sparkbench {

Support Candidate::supports_case(const CaseProblem& problem) const {
  if (problem.element == ElementType::kFp16) return supports(problem, problem.pass);
  return {fmt::format("{} does not compute in {}; allowed: --dtype fp16", name(),
                      name_of(problem.element))};
}

RunOutcome Candidate::run_on_host(const HostWork& /*work*/) const {
  throw std::logic_error(name() + " runs on GPUs only");
}

Prepared Candidate::prepare(const GpuWork& /*work*/) const {
  throw std::logic_error(name() + " runs on the host only");
}

}  // namespace sparkbench
