// The columns of the page's table: their order, and which are there at first.
#pragma once

#include <string>
#include <vector>

#include "results/render/case_columns.h"

namespace sparkbench {

struct PageColumn {
  const CaseColumn* column = nullptr;
  std::string title;      // in one line
  bool is_shown = false;  // also without "all columns"
  bool is_axis = false;   // the page filters by its values
};

/// Those that have a value: kernel and axes, then how fast, how large and how wrong with the
/// status, then the rest. Of axes and of the rest only what varies is shown at first.
std::vector<PageColumn> page_columns(const std::vector<CaseRecord>& cases);

}  // namespace sparkbench
