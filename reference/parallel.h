// Runs independent tasks on all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace sparkbench {

/// Calls body(0) ... body(count - 1), in any order, on as many threads as the machine has cores.
/// Rethrows the first exception of a call; calls that have not begun by then are skipped.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace sparkbench
