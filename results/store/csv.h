// Cases as CSV (RFC 4180, newline "\n"): one row per case, with columns in the order of
// record_fields.h. Fields of `accuracy` since 1.7.0 follow the rest, then a column "tag_<key>" per
// tag of the run. Every row has its run, device and commit, so that rows of two machines can be in
// one file.
//   A leaf has the name of its group as a prefix, "time_ms_median"; `problem`, `accuracy` and
//   `provenance` are omitted.
//   Null is empty; floats are the shortest text that reads back equal; lists are joined by ';'
//   (warnings by their codes). For gradients there are only the columns that compare cases,
//   "dq_rel_l1"; their other fields and the samples are only in the JSON.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// A header and a line per case, with all columns: the tables of several runs have the same
/// columns.
std::string cases_to_csv(const RunRecord& run);

/// The same without uninformative columns (lean_columns.h).
std::string cases_to_lean_csv(const RunRecord& run);

}  // namespace sparkbench
