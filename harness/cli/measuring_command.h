// Shared by sweep, accuracy and run: their flags, and the way from flags to a report.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/plan/planned_sweep.h"
#include "harness/run/run_files.h"

namespace sparkbench {

/// The parts that differ between measuring commands. An empty function does nothing.
struct MeasuringCommand {
  const char* name;
  bool is_timed;
  Workload workload = Workload::kAttention;
  bool takes_one_problem = false;  // axes without a flag get their first default
  bool times_parts = false;        // of references, one by one
  bool takes_tensors = false;      // --tensors
  bool saves_outputs = false;      // --save-outputs
  std::function<void(CLI::App&, SweepOptions&)> add_flags = {};  // additional flags
  std::function<void(RunRecord&)> add_cases = {};                // measured by other programs
  /// For people: covers the cases that they selected.
  std::function<void(const RunRecord&, const TableView&, std::ostream&)> report;
  RunFormats formats = {};
  std::function<void(const RunRecord&)> write_more = {};  // after the files
  bool has_tables = true;                                 // whether table flags apply to the report
  bool has_case_table = true;  // and whether it has a table with a row per case
};

/// Registers the command. When chosen, it plans the cases. With --dry-run it lists them and stops.
/// Otherwise it runs them in worker processes, reports unless --quiet is given, and writes the
/// files.
void add_measuring_command(CLI::App& program, const Invocation& invocation, Action& action,
                           MeasuringCommand command);

}  // namespace sparkbench
