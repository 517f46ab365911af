// sparkbench predict on given machine code: one loop, or a function from entry to exit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/cli/options/table_options.h"

namespace sparkbench {

struct CodePredictionOptions {
  std::string binary, listing;  // at most one of them; neither: not requested
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
