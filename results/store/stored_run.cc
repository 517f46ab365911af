#include "results/store/stored_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "kernels/base/files/input_file.h"
#include "results/store/journal.h"
#include "results/store/json.h"
#include "results/store/output_file.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kRunFiles = {kHeadFile, kJournalFile, "cases.csv",
                                                       "summary.md"};

void sort_by_position(std::vector<CaseRecord>& cases) {
  const auto position = [](const CaseRecord& record) {
    return record.position.value_or(std::numeric_limits<std::uint64_t>::max());
  };
  const auto comes_before = [&](const CaseRecord& a, const CaseRecord& b) {
    return position(a) < position(b);
  };
  // The usual order; sorting would need memory for half of the cases.
  if (std::is_sorted(cases.begin(), cases.end(), comes_before)) return;
  std::stable_sort(cases.begin(), cases.end(), comes_before);
}

/// A complete message with the path and the remedy.
struct DamagedRun : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

[[noreturn]] void refuse_changed_head(const fs::path& folder, const ChangedRun& error) {
  throw DamagedRun(fmt::format(
      "'{0}': {1}; `sparkbench report --salvage` shows the cases of '{2}', which have hashes of "
      "their own, and a new sweep measures them again; if you changed it on purpose, delete its "
      "field run_hash",
      (folder / kHeadFile).string(), error.what(), (folder / kJournalFile).string()));
}

RunRecord read_head(const fs::path& folder, RunHash hash) {
  std::error_code ignored;
  if (!fs::exists(folder / kHeadFile, ignored)) {
    throw std::invalid_argument(fs::is_directory(folder, ignored) ? "holds no run.json"
                                                                  : "is no folder");
  }
  try {
    return run_from_json(read_file(folder / kHeadFile), hash);
  } catch (const ChangedRun&) {
    throw;
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", kHeadFile, error.what()));
  }
}

/// Throws std::invalid_argument for a run's file other than its JSON; the message says where that
/// is.
void require_record(const fs::path& path) {
  std::error_code ignored;
  const std::string name = path.filename().string();
  const bool is_of_run = std::find(kRunFiles.begin(), kRunFiles.end(), name) != kRunFiles.end();
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (is_of_run && name != kHeadFile && fs::exists(folder / kHeadFile, ignored)) {
    throw std::invalid_argument(
        fmt::format("is a file of the run '{0}', and not all of it; give '{0}'", folder.string()));
  }
  if (path.extension() == ".csv") {
    throw std::invalid_argument("is a table for other programs, which lacks part of a record");
  }
}

RunRecord read_one_file(const fs::path& path) {
  const std::string text = read_file(path);
  require_record(path);
  try {
    return run_from_json(text);
  } catch (const ChangedRun& error) {
    throw DamagedRun(
        fmt::format("'{}': {}; write it anew from the run's folder (`sparkbench report FOLDER "
                    "--json FILE`), or, if you changed it on purpose, delete its field run_hash",
                    path.string(), error.what()));
  }
}

/// For a folder: run.json. If its hash is wrong, its cases are dropped and reported as damage.
SalvagedRun read_head_or_rest(const fs::path& folder, RunHash hash) {
  try {
    return {read_head(folder, RunHash::kChecked), {}};
  } catch (const ChangedRun& error) {
    if (hash == RunHash::kChecked) refuse_changed_head(folder, error);
    SalvagedRun salvaged{read_head(folder, RunHash::kIgnored), {}};
    salvaged.run.cases.clear();
    salvaged.run.run.complete = false;
    salvaged.damage.push_back(
        fmt::format("'{}': {}; its settings are shown as they stand, its own cases are not",
                    (folder / kHeadFile).string(), error.what()));
    return salvaged;
  }
}

/// Replaces the cases of run.json by the rows of the journal.
void take_journal(const fs::path& journal, SalvagedRun& salvaged) {
  RunRecord& run = salvaged.run;
  JournalRows rows = scan_journal(journal);
  for (const DamagedRow& row : rows.damaged) {
    salvaged.damage.push_back(fmt::format("'{}' line {}: {}", journal.string(), row.line, row.why));
  }
  if (rows.cases.empty() && rows.damaged.empty()) return;
  const std::vector<CaseRecord> lost = cases_lost(run, rows.cases);
  // Each damaged line may be one of these.
  if (lost.size() > rows.damaged.size()) {
    salvaged.damage.push_back(fmt::format("'{}' lacks {} of the cases of {}, {} for one",
                                          journal.string(), lost.size(), kHeadFile,
                                          lost.front().id));
  }
  run.cases = keep_latest(std::move(rows.cases));
  sort_by_position(run.cases);
  if (!salvaged.damage.empty()) run.run.complete = false;
}

SalvagedRun read_all(const fs::path& path, RunHash hash) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {read_one_file(path), {}};
  SalvagedRun salvaged = read_head_or_rest(path, hash);
  const fs::path journal = path / kJournalFile;
  if (fs::exists(fs::symlink_status(journal, ignored))) take_journal(journal, salvaged);
  return salvaged;
}

template <class Read>
auto explained(const fs::path& path, Read read) {
  try {
    return read();
  } catch (const DamagedRun&) {
    throw;
  } catch (const std::exception& error) {
    throw std::invalid_argument(
        fmt::format("'{}': {}; allowed: a run's folder with its run.json, "
                    "or a file that --json wrote",
                    path.string(), error.what()));
  }
}

}  // namespace

std::string case_key(const CaseRecord& record) {
  return fmt::format("{} seed {}", record.id, record.problem.seed);
}

std::vector<CaseRecord> keep_latest(std::vector<CaseRecord> cases) {
  std::map<std::string, std::size_t> index_of;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::size_t to = index_of.emplace(case_key(cases[i]), kept).first->second;
    if (to == kept) ++kept;
    if (to != i) cases[to] = std::move(cases[i]);
  }
  cases.resize(kept);
  return cases;
}

std::vector<CaseRecord> cases_lost(const RunRecord& head, const std::vector<CaseRecord>& journal) {
  std::set<std::string> keys;
  for (const CaseRecord& record : journal) keys.insert(case_key(record));
  std::vector<CaseRecord> lost;
  std::copy_if(head.cases.begin(), head.cases.end(), std::back_inserter(lost),
               [&](const CaseRecord& record) { return !keys.contains(case_key(record)); });
  return lost;
}

RunRecord read_run_head(const fs::path& folder) {
  return explained(folder, [&] { return read_head_or_rest(folder, RunHash::kChecked).run; });
}

SalvagedRun salvage_stored_run(const fs::path& path) {
  return explained(path, [&] { return read_all(path, RunHash::kIgnored); });
}

RunRecord read_stored_run(const fs::path& path) {
  return explained(path, [&] {
    SalvagedRun salvaged = read_all(path, RunHash::kChecked);
    if (salvaged.damage.empty()) return std::move(salvaged.run);
    const std::size_t more = salvaged.damage.size() - 1;
    throw DamagedRun(fmt::format(
        "{}{}; `sparkbench report --salvage` shows the other cases, `--resume` with --salvage runs "
        "the damaged ones again",
        salvaged.damage.front(), more > 0 ? fmt::format(" (and {} more)", more) : ""));
  });
}

bool would_damage_run(const fs::path& output, const fs::path& run, std::string_view own) {
  std::error_code ignored;
  if (fs::is_regular_file(run, ignored)) return own != kHeadFile && is_same_output(output, run);
  const auto& names = kRunFiles;
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return name != own && is_same_output(output, run / name);
  });
}

}  // namespace sparkbench
