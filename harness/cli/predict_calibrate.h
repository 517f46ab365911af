// sparkbench predict --calibrate: measures on a GPU what the cycle model does not know of the chip.
#pragma once

#include <string>

#include "harness/cli/exit_code.h"
#include "harness/cli/options/table_options.h"
#include "harness/run/sweep_outputs.h"

namespace CLI {
class App;
}

namespace sparkbench {

struct CalibrateOptions {
  std::string device = "auto";  // the first GPU, or cuda:N
  std::string file;             // what is stored; "-": the standard output; empty: not asked for
};

void add_calibration_flags(CLI::App& command, CalibrateOptions& options);

/// Prints what was measured, and stores it. Throws UsageError for a device that is no GPU's name,
/// EnvironmentError where there is no GPU or no code for it, OutputError when the file could not be
/// written, which is found out before anything is measured.
ExitCode run_calibration(const CalibrateOptions& options, const TableOptions& table,
                         const Streams& streams);

}  // namespace sparkbench
