// The three parts of `sparkbench-model predict`: any machine code, the program's own kernels, and
// the calibration on a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/options/table_options.h"
#include "harness/model/sm/loop_prediction.h"
#include "harness/run/run_files.h"

namespace sparkbench {

/// Options for a prediction of given machine code: a loop, or a function from entry to end.
struct CodePredictionOptions {
  std::string binary, listing;  // at most one of them; neither: not requested
  std::string cuobjdump;        // empty: the one on PATH
  std::string function;         // empty: functions and loops are listed
  int threads = 0;
  int blocks = 1;
  std::string loop;
  bool is_whole = false;
  std::vector<std::string> trips, taken, skipped, conflicts, constants;
  int default_trips = 4;
  std::string assumption = "forwarded";
  std::vector<int> offsets;
  int warm = 2;
  int measured = 8;
  bool is_annotated = false;
  bool is_full = false;
  bool has_sensitivity = false;
  bool is_json = false;

  bool is_asked_for() const { return !binary.empty() || !listing.empty(); }
};

void add_code_flags(CLI::App& command, CodePredictionOptions& options);

/// The prediction that the flags request for a function. Throws UsageError, naming the flag, for
/// something that the function does not have, and for bad values.
PredictionRequest prediction_request(const CodePredictionOptions& options,
                                     const SassFunction& function);

ExitCode predict_code(const CodePredictionOptions& options, const TableOptions& table,
                      const Streams& streams);

/// Prints stored cycles of the program's own kernels, and checks them against the machine code.
struct InstancePredictionOptions {
  std::string kernel;                // glob; empty: all
  std::string check_file, new_file;  // empty: not compared; not written
  std::string toolkit;               // of the written cycles; empty: this program's
  bool is_json = false;

  bool is_asked_for() const { return !kernel.empty() || !check_file.empty() || !new_file.empty(); }
};

void add_instance_flags(CLI::App& command, InstancePredictionOptions& options);

/// Prints the cycles that the program was built with. Measures them again where a binary is named,
/// or a file to write or to compare; the code is then the binary's, or this program's.
ExitCode predict_instances(const InstancePredictionOptions& options, const std::string& binary,
                           const std::string& cuobjdump, const TableOptions& table,
                           const Streams& streams);

/// Measures on a GPU what the SM model assumes.
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
