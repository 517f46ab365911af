// The program as a function, so that tests can call it.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "harness/plan/run_settings.h"

namespace sparkbench {

/// What else an executable says of itself.
struct ProgramSettings {
  /// This program, of which worker processes are made; empty: cases run in this process.
  std::filesystem::path worker_executable;
  CaseHook before_case;                           // for tests
  const CyclesFile* cycles = &embedded_cycles();  // by which times are predicted; outlives the call
};

/// Runs `sparkbench argv[1..]` and returns the exit status (exit_code.h). Results go to `out`,
/// everything else to `err`. Throws nothing.
int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                const ProgramSettings& settings = {});

}  // namespace sparkbench
