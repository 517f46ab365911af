// The output files of a measuring command, and where it prints.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/planned_sweep.h"

namespace sparkbench {

/// A command's streams: results to `out`, everything else to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

struct SweepResult {
  RunRecord run;                       // in the plan's order
  std::size_t planned = 0;             // number of cases of a complete run
  std::optional<PassOutputs> outputs;  // to be saved, if that case finished
};

/// Stored runs that a command reads.
struct RunsRead {
  std::vector<std::string> paths;
  bool may_be_derived_anew = false;  // --json may write a run's own run.json, --csv its cases.csv
};

using OutputFile = std::pair<const char*, std::string>;  // its flag, its path

/// The requested files.
std::vector<OutputFile> output_files(const SweepOptions& options);

/// Called before the first case. Throws UsageError and OutputError if an output cannot be written,
/// or would overwrite an input or a file of the run in progress.
void check_outputs(const SweepOptions& options, const RunsRead& runs = {});

/// The stream for people: the error stream if an output uses the standard one.
std::ostream& report_stream(const SweepOptions& options, const Streams& streams);

/// Writes --json, --csv, --md and --html. Writes all that it can before it throws OutputError for
/// one that failed.
void write_outputs(const SweepOptions& options, const RunRecord& run, const Streams& streams);

/// Writes --save-outputs. Throws OutputError, also if there is nothing to write.
void save_outputs(const SweepOptions& options, const SweepResult& result, const Streams& streams);

}  // namespace sparkbench
