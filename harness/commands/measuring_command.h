// What sweep, accuracy and run have in common: their flags, and the way from these to a report.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/session/planned_sweep.h"

namespace sparkbench {

/// What is a measuring command's own. An empty function does nothing.
struct MeasuringCommand {
  const char* name;
  const char* help;
  bool is_timed;
  Workload workload = Workload::kAttention;
  bool times_parts = false;                             // of references, one by one
  bool takes_tensors = false;                           // --tensors
  bool saves_outputs = false;                           // --save-outputs
  std::function<void(SweepOptions&)> complete_options;  // before the grid is expanded
  /// Throws UsageError for cases that the command does not take.
  std::function<void(const std::vector<SweepCase>&, const SweepOptions&)> check_cases;
  std::function<void(const RunRecord&, std::ostream&)> report;  // for people
};

/// Registers the command. Chosen, it plans the cases, lists them and stops if that is all that was
/// asked, else runs them in worker processes, reports unless it is to be quiet, and writes the
/// files.
void add_measuring_command(CLI::App& program, const Invocation& invocation, Action& action,
                           MeasuringCommand command);

}  // namespace sparkbench
