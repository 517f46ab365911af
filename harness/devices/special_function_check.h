// sparkbench check-arithmetic --profile sfu: compares special functions that are recorded on a GPU,
// or computed by a GPU here, with the emulated ones.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/cli/exit_code.h"

namespace sparkbench {

/// Without `device`, recomputes the functions in the files. With it, cuda:N, computes them on that
/// GPU; or, without files, every function for every kSampleStride-th float. Prints a line for each
/// function and its first misses; returns kFinding if there are any. Throws UsageError if there is
/// neither file nor device, and as in arithmetic_check.h.
ExitCode check_special_functions(const std::vector<std::string>& vector_files,
                                 const std::string& device, std::ostream& out);

/// A prime, so that the sampled fractions differ between binades: 17 million floats.
inline constexpr unsigned kSampleStride = 251;

}  // namespace sparkbench
