// The files that a measuring command writes when it is done, and where it prints.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/planned_sweep.h"

namespace sparkbench {

/// Where a command writes: results to `out`, everything else to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

struct SweepResult {
  RunRecord run;                       // in the order of the plan
  std::size_t planned = 0;             // how many cases it has when it is complete
  std::optional<PassOutputs> outputs;  // to be saved, if the case to save ran to its end
};

/// Stored runs that a command reads.
struct RunsRead {
  std::vector<std::string> paths;
  bool may_be_derived_anew = false;  // --json to a run's own run.json, --csv to its cases.csv
};

using OutputFile = std::pair<const char*, std::string>;  // its flag, its path

/// The files that were asked for.
std::vector<OutputFile> output_files(const SweepOptions& options);

/// Throws UsageError and OutputError when an output could not be written, or would overwrite what
/// is read or a file of the run that is made, before the first case.
void check_outputs(const SweepOptions& options, const RunsRead& runs = {});

/// Where to print for people: the error stream when an output has taken the standard one.
std::ostream& report_stream(const SweepOptions& options, const Streams& streams);

/// Writes --json, --csv, --md and --html: all that can be, before it throws OutputError
/// for one that could not.
void write_outputs(const SweepOptions& options, const RunRecord& run, const Streams& streams);

/// Writes --save-outputs. Throws OutputError also when there is nothing to write.
void save_outputs(const SweepOptions& options, const SweepResult& result, const Streams& streams);

}  // namespace sparkbench
