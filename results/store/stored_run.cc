#include "results/store/stored_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "results/store/input_file.h"
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
  std::stable_sort(cases.begin(), cases.end(), [&](const CaseRecord& a, const CaseRecord& b) {
    return position(a) < position(b);
  });
}

/// Its text is whole: the path is in it, and what may be done.
struct DamagedJournal : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

RunRecord read_head(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / kHeadFile, ignored)) {
    throw std::invalid_argument(fs::is_directory(folder, ignored) ? "holds no run.json"
                                                                  : "is no folder");
  }
  try {
    return run_from_json(read_file(folder / kHeadFile));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", kHeadFile, error.what()));
  }
}

SalvagedRun read_all(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {run_from_json(read_file(path)), {}};
  SalvagedRun salvaged{read_head(path), {}};
  RunRecord& run = salvaged.run;
  const fs::path journal = path / kJournalFile;
  if (!fs::exists(fs::symlink_status(journal, ignored))) return salvaged;
  const JournalRows rows = scan_journal(journal);
  for (const DamagedRow& row : rows.damaged) {
    salvaged.damage.push_back(fmt::format("'{}' line {}: {}", journal.string(), row.line, row.why));
  }
  if (rows.cases.empty() && rows.damaged.empty()) return salvaged;
  const std::vector<CaseRecord> lost = cases_lost(run, rows.cases);
  // What a damaged line was may well be one of these.
  if (lost.size() > rows.damaged.size()) {
    salvaged.damage.push_back(fmt::format("'{}' lacks {} of the cases of {}, {} for one",
                                          journal.string(), lost.size(), kHeadFile,
                                          lost.front().id));
  }
  run.cases = keep_latest(rows.cases);
  sort_by_position(run.cases);
  if (!salvaged.damage.empty()) run.run.complete = false;
  return salvaged;
}

template <class Read>
auto explained(const fs::path& path, Read read) {
  try {
    return read();
  } catch (const DamagedJournal&) {
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

std::vector<CaseRecord> keep_latest(const std::vector<CaseRecord>& cases) {
  std::vector<CaseRecord> latest;
  std::map<std::string, std::size_t> index_of;
  for (const CaseRecord& record : cases) {
    const auto [found, is_new] = index_of.emplace(case_key(record), latest.size());
    if (is_new) {
      latest.push_back(record);
    } else {
      latest[found->second] = record;
    }
  }
  return latest;
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
  return explained(folder, [&] { return read_head(folder); });
}

SalvagedRun salvage_stored_run(const fs::path& path) {
  return explained(path, [&] { return read_all(path); });
}

RunRecord read_stored_run(const fs::path& path) {
  return explained(path, [&] {
    SalvagedRun salvaged = read_all(path);
    if (salvaged.damage.empty()) return std::move(salvaged.run);
    const std::size_t more = salvaged.damage.size() - 1;
    throw DamagedJournal(fmt::format(
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
