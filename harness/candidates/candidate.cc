#include "harness/candidates/candidate.h"

#include <stdexcept>

namespace sparkbench {

RunOutcome Candidate::run_on_host(const HostWork& /*work*/) const {
  throw std::logic_error(name() + " runs on GPUs only");
}

Prepared Candidate::prepare(const GpuWork& /*work*/) const {
  throw std::logic_error(name() + " runs on the host only");
}

}  // namespace sparkbench
