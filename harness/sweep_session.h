// A sweep from its options to its record: opens the device, expands the grid, runs case after case
// and writes the results. The commands sweep, accuracy and run differ in what they print of it.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/exit_code.h"
#include "harness/sweep_options.h"

namespace sparkbench {

/// Where a command writes: results to `out`, everything else to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

struct SweepRequest {
  SweepOptions options;
  std::string default_preset;
  bool is_timed = true;
  std::vector<std::string> argv;
};

/// The cases that the options ask for, on the device's contenders. Throws UsageError.
std::vector<SweepCase> plan_sweep(const SweepRequest& request, const Device& device);

/// A line per case: its id.
void list_cases(const std::vector<SweepCase>& cases, std::ostream& out);

/// Runs them. Output paths are checked before the first case; each finished case is in the journal
/// before the next begins. Throws UsageError and OutputError, never for what a case does.
RunRecord run_sweep(const SweepRequest& request, Device& device,
                    const std::vector<SweepCase>& cases, const Streams& streams);

/// Of a finished run: incorrect before incomplete before ok; interrupted when it says so.
ExitCode exit_code_of(const RunRecord& run);

/// Where to print for people: the error stream when an output has taken the standard one.
std::ostream& report_stream(const SweepOptions& options, const Streams& streams);

/// Writes --json, --csv and --md.
void write_outputs(const SweepOptions& options, const RunRecord& run, const Streams& streams);

}  // namespace sparkbench
