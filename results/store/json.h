// Records as JSON and back. The format is results/sparkbench.run.schema.json.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

/// run.json: indented by two spaces, its last field the hash of the rest ("run_hash", text_seal.h),
/// with a newline at the end.
std::string run_to_json(const RunRecord& run);

/// One line without a newline: a line of cases.jsonl.
std::string case_to_json(const CaseRecord& record);

/// {"cases": [...]}, as run.json is: of each case the fields of its record that are known before it
/// is run, and why it will be skipped, if it will be.
std::string planned_to_json(const std::vector<CaseRecord>& cases);

/// The hash of a run's text is not the one that it says.
struct ChangedRun : std::invalid_argument {
  ChangedRun();
};

enum class RunHash { kChecked, kIgnored };

/// Throws std::invalid_argument, naming the field, when the text is not JSON, a field is missing,
/// or has another type, and when the schema is another or of another major version. Fields that are
/// not known are ignored: a later minor version wrote them. Throws ChangedRun unless the hash is
/// ignored; a text without one (of before 1.2) is as good as it looks.
RunRecord run_from_json(std::string_view text, RunHash hash = RunHash::kChecked);
CaseRecord case_from_json(std::string_view text);

}  // namespace sparkbench
