#include "harness/run/local_cases.h"

namespace sparkbench {

void LocalCases::run(const std::vector<std::size_t>& positions, CaseEvents& events) {
  for (const std::size_t position : positions) {
    if (events.is_stopped()) return;
    events.began(plan().cases[position]);
    events.ended(sweep_.run(position));
  }
}

}  // namespace sparkbench
