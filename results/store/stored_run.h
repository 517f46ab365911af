// Reads a run back from where it was stored, finished or not.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// In a run's folder: the run with all its cases, and a line for each case as it ended.
inline constexpr const char *kHeadFile = "run.json", *kJournalFile = "cases.jsonl";

/// The id and the seed. Two cases with equal keys measure the same thing.
std::string case_key(const CaseRecord& record);

/// Among cases with equal keys keeps the last, at the position of the first: a repeated case
/// replaces its older record.
std::vector<CaseRecord> keep_latest(std::vector<CaseRecord> cases);

/// `path` is a run's folder or a file of --json. For a folder the journal is the primary record of
/// its cases, in the order of the sweep; if it has no rows, the cases come from run.json. Throws
/// std::invalid_argument, one line, for anything else and for a damaged run: then it names the line
/// and the remedy.
RunRecord read_stored_run(const std::filesystem::path& path);

struct SalvagedRun {
  RunRecord run;                    // with the cases that can be trusted
  std::vector<std::string> damage;  // a line per bad case, "'run/cases.jsonl' line 3: ..."
};

/// Like read_stored_run(), but leaves out damaged rows of the journal; the run is then incomplete.
/// A changed run.json keeps its settings and loses its cases. Throws std::invalid_argument likewise
/// if there is no run.json to read.
SalvagedRun salvage_stored_run(const std::filesystem::path& path);

/// Only a folder's run.json, with the cases in it.
RunRecord read_run_head(const std::filesystem::path& folder);

/// The cases of `head`, a folder's run.json, that `journal` lacks. Every case is in the journal
/// before run.json is written, so these were lost.
std::vector<CaseRecord> cases_lost(const RunRecord& head, const std::vector<CaseRecord>& journal);

/// Whether writing `output` would overwrite a file of the run at `run`, a folder or a file of
/// --json. `own` is the file that it may overwrite: "run.json", "cases.csv", "summary.md" or "".
bool would_damage_run(const std::filesystem::path& output, const std::filesystem::path& run,
                      std::string_view own);

}  // namespace sparkbench
