// What the program's exit status says.
#pragma once

namespace sparkbench {

enum class ExitCode {
  kOk = 0,           // no case is incorrect or failed: others may be skipped for a declared reason,
                     // predicted or unverified
  kFinding = 1,      // an incorrect result, a broken gate, or what `diff --fail-on` names
  kUsage = 2,        // the command line cannot be carried out
  kEnvironment = 3,  // no such device, or an architecture that is not supported
  kIncomplete = 4,   // a case failed to run, or `merge` lacks a shard or part of a run
  kOutput = 5,       // a result could not be written
  kInterrupted = 130,
};

}  // namespace sparkbench
