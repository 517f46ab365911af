// The output files of a measuring command, and where it prints.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
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

/// Stored runs that no output may overwrite. Empty paths are ignored.
struct RunsBeside {
  std::vector<std::string> own;   // --json may write the run's run.json, --csv its cases.csv
  std::vector<std::string> read;  // none of their files may be written
};

/// The folders of --out and --resume.
RunsBeside runs_beside(const SweepOptions& options);

/// Called before the first case. Throws UsageError and OutputError if an output cannot be written,
/// or would overwrite another one, `tensors_file` or a file of one of the runs.
void check_outputs(const OutputFiles& files, const RunsBeside& runs,
                   const std::string& tensors_file = "");

/// The stream for people: the error stream if an output uses the standard one.
std::ostream& report_stream(const OutputFiles& files, const Streams& streams);

/// Writes --json, --csv, --md and --html. Writes all that it can before it throws OutputError for
/// one that failed.
void write_outputs(const OutputFiles& files, const RunRecord& run, const Streams& streams);

/// Writes --save-outputs if `file` is not empty. Throws OutputError, also if there is nothing to
/// write.
void save_outputs(const std::string& file, const SweepResult& result, const Streams& streams);

}  // namespace sparkbench
