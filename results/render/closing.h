// How a sweep ends: which kernel to use, what the other accumulator costs, how that is known, and
// the next command.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/study/fastest_kernel.h"

namespace sparkbench {

/// "2.95x".
std::string times_text(double ratio);

/// " (2.10x to 4.25x)"; "" where the doubt is not known.
std::string interval_of(const Lead& lead);

/// Three or four lines, of which the first two come for each pass:
///   Use A: 2.95x as fast as unfused-fp16 (2.10x to 4.25x), 258 MiB instead of 2.25 GiB, 0.50x its
///     error.
///   B (FP16-ACC) takes 1.14x as long as A (0.90x to 1.40x), with 7.9x its error.
///   Predicted, not timed: ... 8 problems.
///   Your own shape: sparkbench advise --headdim 64 ...
/// Without a correct case that has a time or a prediction it says so. A kernel whose error was not
/// checked is not recommended, unless nothing ran at all: the line then says that.
std::string format_closing(const RunRecord& run);

/// The third line alone: whether the times are measured or predicted, and how far to trust them.
std::string format_evidence(const RunRecord& run);

}  // namespace sparkbench
