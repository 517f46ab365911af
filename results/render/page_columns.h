// The columns of the page's table: their order, and which are visible at first.
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

/// Columns with a value: kernel and axes, then speed, memory, error and status, then the rest. Axes
/// and the rest are visible at first only if they vary.
std::vector<PageColumn> page_columns(const std::vector<CaseRecord>& cases);

}  // namespace sparkbench
