// A table with named columns for everything but cases: machine code, stage cycles, differences of
// runs. It shows columns that vary and puts the others into its heading.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/render/text_table.h"

namespace sparkbench {

struct SheetColumn {
  std::string name;  // as in --columns
  TextColumn text;   // a cell "-" has no value
};

struct Sheet {
  std::string title;  // one line; may be empty
  /// The first column identifies the row: names of parts between slashes.
  std::vector<SheetColumn> columns;
};

/// The names of all columns, without duplicates, "all" last: the values of --columns.
std::vector<std::string> column_names(std::span<const Sheet> sheets);

/// Title and table. The heading has what all rows share: column values, and parts of the first
/// column, which then reads "volta-fp32acc/*/d64". Empty columns are dropped. If `view.columns`
/// names columns, only these follow the first one, and a sheet with none of them gives "". The
/// name "all" shows every column and moves nothing to the heading.
std::string format_sheet(const Sheet& sheet, const TableView& view);

}  // namespace sparkbench
