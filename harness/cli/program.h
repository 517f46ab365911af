// The program as a function that tests can call.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/cli/command_docs.h"
#include "harness/cli/commands.h"
#include "harness/model/predictor.h"
#include "harness/plan/run_settings.h"
#include "harness/plugin/kernel_library.h"

namespace sparkbench {

/// Settings of an executable.
struct ProgramSettings {
  /// The executable for worker processes; empty: cases run in this process.
  std::filesystem::path worker_executable;
  CaseHook before_case;                            // for tests
  const Predictor* predictor = &v100_predictor();  // null: no times are predicted
  /// Where --kernel finds kernels that are not sparkbench's. A host of another language asks its
  /// own first, and then load_kernel_library().
  LoadKernels load_kernels = load_kernel_library;
  /// The worker executable's first arguments, before the program's: an interpreter's "-m", "name".
  std::vector<std::string> worker_arguments = {};
};

/// A program of several commands.
struct ProgramDescription {
  const char* name;  // "sparkbench"
  const char* summary;
  std::span<const CommandDoc> docs;  // one for each command
  void (*add_commands)(CLI::App& program, const Invocation& invocation, Action& action);
};

/// Runs `sparkbench argv[1..]` and returns the exit status (exit_code.h). Results go to `out`,
/// everything else to `err`. Does not throw.
int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                const ProgramSettings& settings = {});

/// The same of another program.
int run_program(const ProgramDescription& description, const std::vector<std::string>& argv,
                std::ostream& out, std::ostream& err, const ProgramSettings& settings);

}  // namespace sparkbench
