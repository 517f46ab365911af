// The program's exit statuses.
#pragma once

namespace sparkbench {

enum class ExitCode {
  kOk = 0,           // no case is incorrect or failed; cases may be skipped for a stated reason,
                     // predicted or unverified
  kFinding = 1,      // an incorrect result, a gate that fails, or a verdict of `diff --fail-on`
  kUsage = 2,        // the command line is invalid
  kEnvironment = 3,  // no such device, or an unsupported architecture
  kIncomplete = 4,   // a case failed to run, or `merge` lacks a shard or part of a run
  kOutput = 5,       // a result could not be written
  kInterrupted = 130,
};

}  // namespace sparkbench
