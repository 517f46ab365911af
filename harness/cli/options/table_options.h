// The flags of tables for people: which columns, which cases, how wide.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace CLI {
class App;
}

namespace sparkbench {

struct TableOptions {
  std::string columns;             // a list of names, "all", or empty: what matters and fits
  std::vector<std::string> known;  // names of columns; empty: those of cases
  std::vector<std::string> where;  // AXIS=VALUE: the cases that tables and sentences are of
  std::string by;                  // an axis: a table for each of its values
  std::optional<int> width;
};

/// What of these a command's tables know.
struct TableFlags {
  bool has_columns = true;
};

/// Adds --columns, --where, --by and --width; they write into `options`, which must outlive
/// parsing.
void add_table_flags(CLI::App& command, TableOptions& options, TableFlags flags = {});

/// Adds --width alone.
void add_width_flag(CLI::App& command, TableOptions& options);

/// Adds --width, and --columns of these names (results/render/sheet.h).
void add_sheet_flags(CLI::App& command, TableOptions& options, std::vector<std::string> known);

/// Throws UsageError for columns, axes and conditions that there are none of.
void check_table_flags(const TableOptions& options);

/// How to show tables on that stream. The width is --width, or else COLUMNS, or else the
/// terminal's, or else 120 characters. There is colour on a terminal, unless it is called "dumb" or
/// NO_COLOR is set (https://no-color.org). Sentences are broken at a width that somebody chose or a
/// terminal has: what reads a pipe takes a line for a line.
TableView table_view(const TableOptions& options, const std::ostream& stream);

/// The run with the cases of --where alone. Throws UsageError when there is none.
RunRecord shown_part(const TableOptions& options, RunRecord run);

}  // namespace sparkbench
