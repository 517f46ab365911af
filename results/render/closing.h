// The end of a sweep: which kernel to use, the cost of the other accumulator, the evidence, and the
// next command.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/study/fastest_kernel.h"

namespace sparkbench {

/// "2.95x".
std::string times_text(double ratio);

/// " (2.10x to 4.25x)"; "" if the uncertainty is unknown.
std::string interval_of(const Lead& lead);

/// Three or four lines; the first two are per pass:
///   Use A: 2.95x as fast as unfused-fp16 (2.10x to 4.25x), 258 MiB instead of 2.25 GiB, 0.50x its
///     error.
///   B (FP16-ACC) takes 1.14x as long as A (0.90x to 1.40x), with 7.9x its error.
///   Predicted, not timed: ... 8 problems.
///   Your own shape: sparkbench advise --headdim 64 ...
/// Says so if no correct case has a time or a prediction. A kernel whose error was not checked is
/// recommended only if nothing ran at all; the line then says that.
std::string format_closing(const RunRecord& run);

/// Only the third line: whether times are measured or predicted, and how reliable they are.
std::string format_evidence(const RunRecord& run);

}  // namespace sparkbench
