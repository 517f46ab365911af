// A table whose columns have names, for all that is no table of cases: kernels' machine code, the
// cycles of stages, two runs' differences. It shows what varies, and says the rest in its head.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/render/text_table.h"

namespace sparkbench {

struct SheetColumn {
  std::string name;  // as --columns takes it
  TextColumn text;   // a cell that is "-" has no value
};

struct Sheet {
  std::string title;  // a line; may be empty
  /// The first says which row it is: names of parts between slashes.
  std::vector<SheetColumn> columns;
};

/// The names of all columns, each once, "all" last: what --columns takes.
std::vector<std::string> column_names(std::span<const Sheet> sheets);

/// Title and table. The head has what all rows share: values of columns, and parts of the first
/// column, where it then stands as "volta-fp32acc/*/d64". A column without a value is left out.
/// `view.columns` asks for columns by name, which then all are there, behind the first; a sheet
/// that has none of them is nothing. "all" is for every column, and folds nothing.
std::string format_sheet(const Sheet& sheet, const TableView& view);

}  // namespace sparkbench
