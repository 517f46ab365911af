// The axes of a sweep, one row per axis along which cases may differ. Flags and their help,
// `sparkbench list`, grids, ids, record fields, CSV columns, table headings and repro lines derive
// from these rows. A new axis needs a row here, a field of Problem, support in the kernels, and a
// property in the schema.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sweeps/case_problem.h"

namespace sparkbench {

/// The value of any axis. None: the rest of the problem determines it (a batch of "auto"), or it is
/// unknown.
using AxisValue = std::variant<std::monostate, bool, int, float, std::string>;

inline bool is_none(const AxisValue& value) { return value.index() == 0; }

/// In the form of the axis's flag: "512", "0.1", "window:256"; "" for none.
std::string text_of_value(const AxisValue& value);

/// The totals from which automatic extents are computed.
struct GridTotals {
  int tokens = 16 * 1024;
  int hidden = 2048;
};

/// Reads and writes the value of an axis in a problem.
struct AxisAccess {
  AxisValue (*get)(const CaseProblem&) = nullptr;
  void (*set)(CaseProblem&, const AxisValue&) = nullptr;
  bool may_be_none = false;
};

/// A second flag for the same axis. Its value is rewritten to a value of the axis's own flag.
struct AxisShorthand {
  const char* flag = nullptr;
  const char* help = "";
  const char* allowed = "";
  std::string (*expand)(std::string_view flag, std::string_view text) = nullptr;
};

/// The axis in a case's id, such as "/sq512".
struct AxisInId {
  int place = 0;  // position, from 1 on; 0: at the end, and only if the value is unusual
  const char* prefix = "";
  std::vector<AxisValue> usual = {};
  bool is_left_out_like_twin = false;
  /// Text to write instead of the value, if any.
  std::string (*text)(const CaseProblem&) = nullptr;
};

struct Axis {
  const char* name;  // in records and CSV
  const char* flag;
  const char* help;
  std::string allowed;  // the flag's allowed values
  const char* initial;  // the default if neither preset nor user gives the flag
  std::vector<AxisValue> (*parse)(std::string_view flag, std::string_view text) = nullptr;
  AxisAccess access = {};  // empty for the kernel and for totals
  /// Computes the value from the others and the totals if the grid gives none.
  void (*derive)(CaseProblem&, const GridTotals&) = nullptr;
  AxisInId id = {};
  const char* heading = name;        // the heading of its column in tables
  const char* twin = nullptr;        // name of the axis that usually has the same value
  int GridTotals::*total = nullptr;  // for a total: its member; `of` is the axis that it sets
  const char* of = nullptr;          // set by this total, or (for lengths) an axis whose preset
                                     // value is ignored
  std::vector<std::string_view> replaces = {};  // axes whose flags say the same thing
  /// Whether another axis already determines the value; then ids and flags leave it out.
  bool (*is_implied)(const CaseProblem&) = nullptr;
  AxisShorthand shorthand = {};
  bool is_of_tensors = false;       // the user's own tensors determine it
  bool is_of_case = false;          // in a record it is next to "problem", not in it
  bool is_in_every_record = false;  // false: records older than the axis lack it
  bool is_studied = true;           // `accuracy` reports the errors along it
};

/// Every row, in the order of flags and tables. The rows of the problem go from slowest to fastest
/// in a grid.
std::span<const Axis> axes();

/// The rows that are part of a problem, in that order.
std::span<const Axis* const> problem_axes();

/// The same rows in the order of ids, record fields and CSV columns.
std::span<const Axis* const> recorded_axes();

/// Throws std::invalid_argument if there is none.
const Axis& find_axis(std::string_view name);

/// The row whose `replaces` contains `axis`; null if there is none.
const Axis* find_replacement(const Axis& axis);

/// Whether the problem has the same value for the axis as for its twin; false without a twin.
bool equals_twin(const Axis& axis, const CaseProblem& problem);

/// "--mask causal --dropout 0.1": the flags that repeat this one problem. Leaves out the values
/// that the user's own tensors determine.
std::string flags_of_problem(const CaseProblem& problem, bool has_own_tensors);

/// The flags that distinguish the problem: leaves out default values, values that follow from
/// another axis, and the pass.
std::string shape_flags(const CaseProblem& problem);

}  // namespace sparkbench
