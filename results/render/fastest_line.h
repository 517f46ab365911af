// The last line of a sweep: which kernel to use.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// "Fastest correct kernel: A, 1.37x as fast as B, the next (1.36x to 1.38x, measured, 24
/// problems), 6.1x as fast as C (6.0x to 6.2x); rel_l1 at most 0.0251 %, error 0.52x of the unfused
/// computation's.": "up to about" where not all rows of all its cases were checked. A line for each
/// pass when there are several, each with its newline. Without a
/// correct case that has a time or a prediction it says so. A kernel whose error was not checked is
/// not called correct.
std::string format_fastest(const RunRecord& run);

}  // namespace sparkbench
