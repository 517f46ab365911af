// A sweep from its plan to its record: what of it is left to do, the folder, the journal, the
// interruption, and the files in the end.
#pragma once

#include <string>

#include "harness/cli/exit_code.h"
#include "harness/run/case_executor.h"
#include "harness/run/sweep_outputs.h"

namespace sparkbench {

/// Runs the cases that are left to do. Each that ends is in the journal before the next begins.
/// Throws UsageError when the run to be resumed is another's, OutputError when the journal cannot
/// be written and EnvironmentError when no device is left, never for what a case does.
SweepResult run_sweep(const SweepRequest& request, CaseExecutor& executor, const Streams& streams);

/// Of a finished run: incorrect before incomplete before usage, when nothing ran of what was named
/// (nothing_ran.h), before ok; interrupted when it says so.
ExitCode exit_code_of(const RunRecord& run);

/// "sparkbench sweep --resume runs/today", to be printed; empty without a folder.
std::string resume_line(const SweepRequest& request);

}  // namespace sparkbench
