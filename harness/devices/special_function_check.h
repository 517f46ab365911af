// sparkbench check-arithmetic --profile sfu: special functions recorded on a GPU, or a GPU's own,
// against the emulated ones.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/cli/exit_code.h"

namespace sparkbench {

/// Without `device`, computes what the files hold anew. With it, cuda:N, asks that GPU for what the
/// files hold; or, without files, for every function of every kSampleStride-th float. Prints a line
/// for each function, and its first misses; kFinding when there is any. Throws UsageError when
/// there is neither file nor device, and as arithmetic_check.h says.
ExitCode check_special_functions(const std::vector<std::string>& vector_files,
                                 const std::string& device, std::ostream& out);

/// Prime, so that the sample's fractions differ from binade to binade: 17 million floats.
inline constexpr unsigned kSampleStride = 251;

}  // namespace sparkbench
