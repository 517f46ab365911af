// sparkbench predict of given machine code: a loop of it, or a function from entry to end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/cli/options/table_options.h"

namespace sparkbench {

struct CodePredictionOptions {
  std::string binary, listing;  // one of them, or neither: not asked for
  std::string cuobjdump;        // empty: the one on PATH
  std::string function;         // empty: functions and loops are listed
  int threads = 0;
  int blocks = 1;
  std::string loop;
  bool is_whole = false;
  std::vector<std::string> trips, taken, skipped, conflicts, constants;
  int default_trips = 4;
  std::string assumption = "forwarded";
  std::vector<int> offsets;
  int warm = 2;
  int measured = 8;
  bool is_annotated = false;
  bool is_full = false;
  bool has_sensitivity = false;
  bool is_json = false;

  bool is_asked_for() const { return !binary.empty() || !listing.empty(); }
};

void add_code_flags(CLI::App& command, CodePredictionOptions& options);

ExitCode predict_code(const CodePredictionOptions& options, const TableOptions& table,
                      const Streams& streams);

}  // namespace sparkbench
