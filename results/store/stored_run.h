// A run read back from where it was stored, finished or not.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// Of a run's folder: the run with all its cases, and a line for each case as it ended.
inline constexpr const char *kHeadFile = "run.json", *kJournalFile = "cases.jsonl";

/// Two cases with equal keys measure the same thing: the id and the seed.
std::string case_key(const CaseRecord& record);

/// Of cases with equal keys the last, where the first was: a case that was run again replaces its
/// older record.
std::vector<CaseRecord> keep_latest(std::vector<CaseRecord> cases);

/// `path` is a run's folder, whose journal is then the truth about its cases, in the order of the
/// sweep; or a file that --json wrote. A folder without rows in its journal has the cases of its
/// run.json. Throws std::invalid_argument, one line, when it is neither, and when it is damaged:
/// then the line is named, and what may be done.
RunRecord read_stored_run(const std::filesystem::path& path);

struct SalvagedRun {
  RunRecord run;                    // with the cases that can be believed
  std::vector<std::string> damage;  // a line for each that cannot, "'run/cases.jsonl' line 3: ..."
};

/// As read_stored_run(), but leaves out what is damaged in the journal, and then the run is not
/// complete. Of a run.json that was changed the settings stay, and its own cases are left out.
/// Throws std::invalid_argument as that does where there is no run.json to read.
SalvagedRun salvage_stored_run(const std::filesystem::path& path);

/// Of a folder run.json alone, with the cases that stand there.
RunRecord read_run_head(const std::filesystem::path& folder);

/// The cases of `head`, a folder's run.json, that `journal` lacks: it has every case before
/// run.json is written.
std::vector<CaseRecord> cases_lost(const RunRecord& head, const std::vector<CaseRecord>& journal);

/// Whether writing `output` would overwrite a file of the run at `run`, a folder or a file that
/// --json wrote. `own` is what it may overwrite there: "run.json", "cases.csv", "summary.md" or "".
bool would_damage_run(const std::filesystem::path& output, const std::filesystem::path& run,
                      std::string_view own);

}  // namespace sparkbench
