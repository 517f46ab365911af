// The columns of a table of cases, one row each: name, title, the cell of a case, and which columns
// are dropped first if a line is too short.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"
#include "results/render/text_table.h"
#include "sweeps/axes.h"

namespace sparkbench {

/// CaseColumn::rank of columns that are only shown on request.
inline constexpr int kOnlyWhenAsked = 100;

struct CaseColumn {
  std::string name;                                    // as in --columns
  std::string title;                                   // of one or two lines
  std::function<std::string(const CaseRecord&)> cell;  // "" if the case has no value
  int rank = 0;                                        // the highest is dropped first; 0 never
  bool is_text = false;                                // aligned to the left
  const Axis* axis = nullptr;                          // whose value it is
  Ink (*ink)(std::string_view cell) = nullptr;
};

/// All columns, in table order: kernel, axes, results.
std::span<const CaseColumn> case_columns();

/// Their names, with "all" last: the values of --columns.
std::vector<std::string> case_column_names();

/// The column of a table with these cases.
TextColumn text_column_of(const CaseColumn& column, const std::vector<CaseRecord>& cases);

bool is_constant(const TextColumn& column);
bool has_no_value(const TextColumn& column);

/// Whether a kernel has a prediction. A baseline's prediction is only there for comparison.
bool has_predicted_kernel(const std::vector<CaseRecord>& cases);

}  // namespace sparkbench
