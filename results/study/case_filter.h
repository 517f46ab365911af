// Choosing cases of a run by what they are of: --where axis=value, and --by axis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"
#include "sweeps/axes.h"

namespace sparkbench {

/// What cases may be chosen by: the kernel, each axis of a problem as records, tables and flags
/// call it, the status and the device.
std::vector<std::string> choosing_axes();

/// The axis of a problem that a record, a table or a flag calls so: head_dim is headdim too. Null
/// of any other name.
const Axis* find_choosing_axis(std::string_view name);

/// What tables call the axis that is typed so, "seqlen_q" for "seqlen". Throws UsageError, naming
/// `flag`, for a name that is none of choosing_axes().
std::string choosing_axis(std::string_view flag, std::string_view typed);

/// What the case has on that axis, as its flag takes it; "" where it has none.
std::string value_on(std::string_view axis, const CaseRecord& record);

/// The cases of the run with one of the values of every condition, "mask=causal,full". Throws
/// UsageError for a condition of another form, and for a value that no case has.
std::vector<CaseRecord> cases_where(const std::vector<std::string>& conditions,
                                    const std::vector<CaseRecord>& cases);

/// Throws UsageError for what is not AXIS=VALUE of a known axis: before there are any cases.
void check_conditions(const std::vector<std::string>& conditions);

/// Cases that have the same value on an axis.
struct CaseGroup {
  std::string value;
  std::vector<CaseRecord> cases;
};

/// In the order in which the values first come.
std::vector<CaseGroup> groups_by(std::string_view axis, const std::vector<CaseRecord>& cases);

}  // namespace sparkbench
