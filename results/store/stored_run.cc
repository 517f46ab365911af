#include "results/store/stored_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>

#include "results/store/journal.h"
#include "results/store/json.h"
#include "results/store/output_error.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::invalid_argument("cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

void sort_by_position(std::vector<CaseRecord>& cases) {
  const auto position = [](const CaseRecord& record) {
    return record.position.value_or(std::numeric_limits<std::uint64_t>::max());
  };
  std::stable_sort(cases.begin(), cases.end(), [&](const CaseRecord& a, const CaseRecord& b) {
    return position(a) < position(b);
  });
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

RunRecord read_stored_run(const fs::path& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  try {
    RunRecord run = run_from_json(read_text(is_folder ? path / "run.json" : path));
    if (is_folder && fs::exists(path / "cases.jsonl")) {
      run.cases = keep_latest(read_journal(path / "cases.jsonl"));
      sort_by_position(run.cases);
    }
    return run;
  } catch (const std::exception& error) {
    throw std::invalid_argument(
        fmt::format("'{}': {}; allowed: a run's folder with its run.json, "
                    "or a file that --json wrote",
                    path.string(), error.what()));
  }
}

}  // namespace sparkbench
