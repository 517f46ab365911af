// The flags of tables for people: columns, cases, width.
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
  std::string columns;             // a list of names, "all", or empty: the default choice
  std::vector<std::string> known;  // names of columns; empty: the case table's
  std::vector<std::string> where;  // AXIS=VALUE: selects cases for tables and sentences
  std::string by;                  // an axis: one table per value
  std::optional<int> width;
};

/// Which of these flags a command's tables take.
struct TableFlags {
  bool has_columns = true;
};

/// Adds --columns, --where, --by and --width. They write to `options`, which must outlive parsing.
void add_table_flags(CLI::App& command, TableOptions& options, TableFlags flags = {});

/// Adds only --width.
void add_width_flag(CLI::App& command, TableOptions& options);

/// Adds --width, and --columns of these names (results/render/sheet.h).
void add_sheet_flags(CLI::App& command, TableOptions& options, std::vector<std::string> known);

/// Throws UsageError for unknown columns, axes and conditions.
void check_table_flags(const TableOptions& options);

/// How to show tables on that stream. The width is --width, else COLUMNS, else the terminal's, else
/// 120 characters. A terminal has colour, unless TERM is "dumb" or NO_COLOR is set
/// (https://no-color.org). Sentences are wrapped at a chosen or a terminal's width, but not in a
/// pipe, whose reader processes lines.
TableView table_view(const TableOptions& options, const std::ostream& stream);

/// The run with only the cases of --where. Throws UsageError if there are none.
RunRecord shown_part(const TableOptions& options, RunRecord run);

}  // namespace sparkbench
