// Cases as CSV (RFC 4180, newline "\n"): a row per case, the columns in the order of
// record_fields.h, but for fields of `accuracy` since 1.7.0, which follow the rest, then a column
// "tag_<key>" per tag of the run. Every row tells of itself which run, device and commit it is of,
// so that rows of two machines may stand in one file.
//   A leaf is named after its group, "time_ms_median"; `problem`, `accuracy` and `provenance` leave
//   theirs out.
//   Null is empty; floats are the shortest text that reads back equal; lists are joined by ';'
//   (warnings by their codes). Of a gradient there are the columns that compare cases, "dq_rel_l1";
//   the rest and the samples are in the JSON only.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// A header and a line per case, with all columns: the tables of several runs fit together.
std::string cases_to_csv(const RunRecord& run);

/// The same, without columns that say nothing of this run (lean_columns.h).
std::string cases_to_lean_csv(const RunRecord& run);

}  // namespace sparkbench
