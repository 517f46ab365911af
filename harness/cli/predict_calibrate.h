// sparkbench predict --calibrate: measures on a GPU the parameters that the cycle model lacks.
#pragma once

#include <string>

#include "harness/cli/exit_code.h"
#include "harness/cli/options/table_options.h"
#include "harness/run/run_files.h"

namespace CLI {
class App;
}

namespace sparkbench {

struct CalibrateOptions {
  std::string device = "auto";  // the first GPU, or cuda:N
  std::string file;             // output file; "-": the standard output; empty: not requested
};

void add_calibration_flags(CLI::App& command, CalibrateOptions& options);

/// Prints and stores the measurements. Throws UsageError if the device is not a GPU's name,
/// EnvironmentError if there is no GPU or no code for it, and OutputError if the file cannot be
/// written, which is checked before measuring.
ExitCode run_calibration(const CalibrateOptions& options, const TableOptions& table,
                         const Streams& streams);

}  // namespace sparkbench
