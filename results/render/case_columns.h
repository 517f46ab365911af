// The columns that a table of cases may have, a row each: its name, its title, what a case has
// there, and what gives way first where a line is too short for all.
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

/// CaseColumn::rank of what is in a table when somebody asks for it, and never else.
inline constexpr int kOnlyWhenAsked = 100;

struct CaseColumn {
  std::string name;                                    // as --columns takes it
  std::string title;                                   // of one or two lines
  std::function<std::string(const CaseRecord&)> cell;  // "" where the case has no value
  int rank = 0;                // of those that do not fit the highest gives way first; 0 never does
  bool is_text = false;        // aligned to the left
  const Axis* axis = nullptr;  // whose value it is
  Ink (*ink)(std::string_view cell) = nullptr;
};

/// All of them, in the order of a table: the kernel, the axes, what came out.
std::span<const CaseColumn> case_columns();

/// Their names, "all" last: what --columns takes.
std::vector<std::string> case_column_names();

/// The column of the table that shows these cases.
TextColumn text_column_of(const CaseColumn& column, const std::vector<CaseRecord>& cases);

bool is_constant(const TextColumn& column);
bool has_no_value(const TextColumn& column);

/// Whether a kernel has a prediction: what a baseline is predicted to take is there to compare
/// with.
bool has_predicted_kernel(const std::vector<CaseRecord>& cases);

}  // namespace sparkbench
