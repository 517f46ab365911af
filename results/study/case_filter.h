// Selects cases of a run: --where axis=value, and --by axis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"
#include "sweeps/axes.h"

namespace sparkbench {

/// The names that select cases: the kernel, each axis of a problem under its names in records,
/// tables and flags, the status and the device.
std::vector<std::string> choosing_axes();

/// The axis with this name in records, tables or flags: head_dim is headdim too. Null for any other
/// name.
const Axis* find_choosing_axis(std::string_view name);

/// The table's name for a typed axis, "seqlen_q" for "seqlen". Throws UsageError, naming `flag`,
/// for a name outside choosing_axes().
std::string choosing_axis(std::string_view flag, std::string_view typed);

/// The case's value on that axis in the form of its flag; "" if it has none.
std::string value_on(std::string_view axis, const CaseRecord& record);

/// The cases of the run that match every condition, such as "mask=causal,full". Throws UsageError
/// for a condition of another form, and for a value that no case has.
std::vector<CaseRecord> cases_where(const std::vector<std::string>& conditions,
                                    const std::vector<CaseRecord>& cases);

/// Throws UsageError for a condition that is not AXIS=VALUE with a known axis; needs no cases.
void check_conditions(const std::vector<std::string>& conditions);

/// Cases with the same value on an axis.
struct CaseGroup {
  std::string value;
  std::vector<CaseRecord> cases;
};

/// In the order of each value's first appearance.
std::vector<CaseGroup> groups_by(std::string_view axis, const std::vector<CaseRecord>& cases);

}  // namespace sparkbench
