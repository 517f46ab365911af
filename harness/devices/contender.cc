#include "harness/devices/contender.h"

#include <stdexcept>

namespace sparkbench {

RunOutcome Contender::run_on_host(const HostWork& /*work*/) const {
  throw std::logic_error(name() + " runs on GPUs only");
}

Prepared Contender::prepare(const GpuWork& /*work*/) const {
  throw std::logic_error(name() + " runs on the host only");
}

}  // namespace sparkbench
