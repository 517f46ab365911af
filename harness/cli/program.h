// The program as a function that tests can call.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "harness/plan/run_settings.h"

namespace sparkbench {

/// Settings of an executable.
struct ProgramSettings {
  /// The executable for worker processes; empty: cases run in this process.
  std::filesystem::path worker_executable;
  CaseHook before_case;                           // for tests
  const CyclesFile* cycles = &embedded_cycles();  // for predicted times; must outlive the call
};

/// Runs `sparkbench argv[1..]` and returns the exit status (exit_code.h). Results go to `out`,
/// everything else to `err`. Does not throw.
int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                const ProgramSettings& settings = {});

}  // namespace sparkbench
