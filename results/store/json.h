// Records as JSON and back. The format is results/sparkbench.run.schema.json.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

/// run.json: indented by two spaces, with a newline at the end. Its last field is the hash of the
/// rest ("run_hash", text_seal.h).
std::string run_to_json(const RunRecord& run);

/// One line without a newline, for cases.jsonl.
std::string case_to_json(const CaseRecord& record);

/// {"cases": [...]}, as in run.json: for each case the record fields that are known before it runs,
/// and why it will be skipped, if it will be.
std::string planned_to_json(const std::vector<CaseRecord>& cases);

/// The run's text does not match its hash.
struct ChangedRun : std::invalid_argument {
  ChangedRun();
};

enum class RunHash { kChecked, kIgnored };

/// Throws std::invalid_argument, naming the field, if the text is not JSON, if a field is missing
/// or has another type, or if the schema has another name or major version. Unknown fields are
/// ignored: a later minor version wrote them. Throws ChangedRun for a wrong hash, unless it is
/// ignored. A text without a hash (before 1.2) is accepted.
RunRecord run_from_json(std::string_view text, RunHash hash = RunHash::kChecked);
CaseRecord case_from_json(std::string_view text);

}  // namespace sparkbench
