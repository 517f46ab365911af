// The axes: what may differ between the cases of a sweep, one row each. Flags and their help,
// `sparkbench list`, grids, ids, record fields, CSV columns, table headings and repro lines derive
// from these rows. A new axis is a row here, a field of Problem, what a kernel makes of it, and a
// property in the schema.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/axis_value.h"
#include "sweeps/case_problem.h"

namespace sparkbench {

/// What automatic extents are worked out from.
struct GridTotals {
  int tokens = 16 * 1024;
  int hidden = 2048;
};

/// Where a problem has the value of an axis.
struct AxisAccess {
  AxisValue (*get)(const CaseProblem&) = nullptr;
  void (*set)(CaseProblem&, const AxisValue&) = nullptr;
  bool may_be_none = false;
};

/// Another flag of the same axis: what it takes is rewritten to what the axis' own flag takes.
struct AxisShorthand {
  const char* flag = nullptr;
  const char* help = "";
  const char* allowed = "";
  std::string (*expand)(std::string_view flag, std::string_view text) = nullptr;
};

/// "/sq512" in a case's id.
struct AxisInId {
  int place = 0;  // from 1 on; 0: at the end, and only where the value is unusual
  const char* prefix = "";
  std::vector<AxisValue> usual = {};
  bool is_left_out_like_twin = false;
  /// What stands there instead of the value, where there is one.
  std::string (*text)(const CaseProblem&) = nullptr;
};

struct Axis {
  const char* name;  // in records and CSV
  const char* flag;
  const char* help;
  std::string allowed;  // what the flag takes
  const char* initial;  // what the flag is when neither preset nor user give it
  std::vector<AxisValue> (*parse)(std::string_view flag, std::string_view text) = nullptr;
  AxisAccess access = {};  // none of the kernel, and of a total
  /// Sets the value from the others', and from the totals, where the grid's is none.
  void (*derive)(CaseProblem&, const GridTotals&) = nullptr;
  AxisInId id = {};
  const char* heading = name;        // of its column in tables
  const char* twin = nullptr;        // name of the axis whose value this one's usually is
  int GridTotals::*total = nullptr;  // of a total, what it is; `of` is then the axis it is for
  const char* of = nullptr;          // or of lengths, which a preset's batch is not for
  std::vector<std::string_view> replaces = {};  // axes whose flags say the same in another way
  /// Whether another axis of the problem says the value: what repeats it then leaves it out.
  bool (*is_implied)(const CaseProblem&) = nullptr;
  AxisShorthand shorthand = {};
  bool is_of_tensors = false;       // the user's own tensors say it
  bool is_of_case = false;          // in a record it stands beside "problem", not in it
  bool is_in_every_record = false;  // there are none of before there was the axis
  bool is_studied = true;           // `accuracy` tells the errors along it
};

/// Every row, in the order of flags and tables. Those of the problem: the slowest first in a grid.
std::span<const Axis> axes();

/// The rows that are part of a problem, in that order.
std::span<const Axis* const> problem_axes();

/// The same in the order of ids, of record fields and of CSV columns.
std::span<const Axis* const> recorded_axes();

/// Throws std::invalid_argument when there is none.
const Axis& find_axis(std::string_view name);

/// The row of which `axis` is one that it replaces; null without one.
const Axis* find_replacement(const Axis& axis);

/// Whether the problem has the same value of the axis as of its twin; false without one.
bool equals_twin(const Axis& axis, const CaseProblem& problem);

/// "--mask causal --dropout 0.1": what makes a sweep of this one problem. Without what the tensors
/// say, when these are the user's.
std::string flags_of_problem(const CaseProblem& problem, bool has_own_tensors);

/// What of that tells the problem from others: without what is as usual, or follows from another
/// axis, and without the pass.
std::string shape_flags(const CaseProblem& problem);

}  // namespace sparkbench
