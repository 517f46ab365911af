// What sweep, accuracy and run have in common: their flags, and the way from these to a report.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/plan/planned_sweep.h"

namespace sparkbench {

/// What is a measuring command's own. An empty function does nothing.
struct MeasuringCommand {
  const char* name;
  bool is_timed;
  Workload workload = Workload::kAttention;
  bool takes_one_problem = false;  // of axes without a flag the first value
  bool times_parts = false;        // of references, one by one
  bool takes_tensors = false;      // --tensors
  bool saves_outputs = false;      // --save-outputs
  std::function<void(CLI::App&, SweepOptions&)> add_flags = {};  // its own, besides
  std::function<void(RunRecord&)> add_cases = {};                // that others measured
  /// For people: of the cases that they want to see.
  std::function<void(const RunRecord&, const TableView&, std::ostream&)> report;
  std::function<void(const RunRecord&)> write_more = {};  // after the files
  bool has_tables = true;      // whether there is anything to choose of what is reported
  bool has_case_table = true;  // of those a table with a row a case
};

/// Registers the command. Chosen, it plans the cases, lists them and stops if that is all that was
/// asked, else runs them in worker processes, reports unless it is to be quiet, and writes the
/// files.
void add_measuring_command(CLI::App& program, const Invocation& invocation, Action& action,
                           MeasuringCommand command);

}  // namespace sparkbench
