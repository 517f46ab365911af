// sparkbench predict of the program's own kernels: what is stored of them, and whether it is true
// of machine code at hand.
#pragma once

#include <string>

#include "harness/cli/commands.h"
#include "harness/cli/options/table_options.h"

namespace sparkbench {

struct InstancePredictionOptions {
  std::string kernel;                // glob; empty: all
  std::string check_file, new_file;  // empty: not compared; not written
  std::string toolkit;               // of what is written; empty: this program's
  bool is_json = false;

  bool is_asked_for() const { return !kernel.empty() || !check_file.empty() || !new_file.empty(); }
};

void add_instance_flags(CLI::App& command, InstancePredictionOptions& options);

/// The figures that the program was built with; of a binary that is named, or with a file to write
/// or to compare, measured anew (without a name: from this program).
ExitCode predict_instances(const InstancePredictionOptions& options, const std::string& binary,
                           const std::string& cuobjdump, const TableOptions& table,
                           const Streams& streams);

}  // namespace sparkbench
