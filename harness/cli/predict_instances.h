// sparkbench predict on the program's own kernels: the stored cycles, and whether they match given
// machine code.
#pragma once

#include <string>

#include "harness/cli/commands.h"
#include "harness/cli/options/table_options.h"

namespace sparkbench {

struct InstancePredictionOptions {
  std::string kernel;                // glob; empty: all
  std::string check_file, new_file;  // empty: not compared; not written
  std::string toolkit;               // of the written cycles; empty: this program's
  bool is_json = false;

  bool is_asked_for() const { return !kernel.empty() || !check_file.empty() || !new_file.empty(); }
};

void add_instance_flags(CLI::App& command, InstancePredictionOptions& options);

/// Shows the cycles that the program was built with. Computes them again for a given binary, or
/// (from this program) if there is a file to write or to compare.
ExitCode predict_instances(const InstancePredictionOptions& options, const std::string& binary,
                           const std::string& cuobjdump, const TableOptions& table,
                           const Streams& streams);

}  // namespace sparkbench
