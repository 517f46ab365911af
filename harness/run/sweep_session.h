// Runs a sweep from its plan to its record: remaining cases, folder, journal, interruption, output
// files.
#pragma once

#include <string>

#include "harness/cli/exit_code.h"
#include "harness/run/case_executor.h"
#include "harness/run/run_files.h"

namespace sparkbench {

/// Runs the remaining cases. Each finished case is in the journal before the next begins. Throws
/// UsageError if the resumed run does not match, OutputError if the journal cannot be written and
/// EnvironmentError if no device is left; never for a case's failure.
SweepResult run_sweep(const SweepRequest& request, CaseExecutor& executor, const Streams& streams);

/// For a finished run, in order of precedence: incorrect, incomplete, usage (a named kernel never
/// ran, nothing_ran.h), ok. Interrupted if the run says so.
ExitCode exit_code_of(const RunRecord& run);

/// "sparkbench sweep --resume runs/today", to be printed; empty without a folder.
std::string resume_line(const SweepRequest& request);

}  // namespace sparkbench
