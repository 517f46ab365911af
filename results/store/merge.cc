#include "results/store/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <stdexcept>

#include "results/record/case_id.h"
#include "results/record/comparability.h"
#include "results/store/stored_run.h"

namespace sparkbench {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr const char* kShard = "shard";

bool is_allowed(const std::vector<std::string>& allowed, std::string_view what) {
  return std::find(allowed.begin(), allowed.end(), what) != allowed.end();
}

void require_comparable(const RunRecord& first, const RunRecord& other,
                        const std::vector<std::string>& allowed) {
  for (const Difference& difference : find_differences(first, other)) {
    if (is_allowed(allowed, difference.of)) continue;
    throw std::invalid_argument(fmt::format("the runs {} and {} have {}; to mix them, --allow {}",
                                            first.run.id, other.run.id, words_of(difference),
                                            difference.of));
  }
}

void require_no_duplicates(const std::vector<RunRecord>& runs) {
  std::map<std::string, std::string> run_of;
  for (const RunRecord& run : runs) {
    for (const CaseRecord& record : run.cases) {
      const auto [found, is_new] = run_of.emplace(case_key(record), run.run.id);
      if (is_new) continue;
      throw std::invalid_argument(
          fmt::format("the runs {} and {} both have {}; to keep the last one, --allow {}",
                      found->second, run.run.id, record.id, kDuplicates));
    }
  }
}

/// An integer from 1 on, as in --shard; 0 for any other text.
std::size_t number_of(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? number : 0;
}

std::string resolved(const RunRecord& run, const char* option) {
  const auto found = run.run.resolved.find(option);
  return found == run.run.resolved.end() ? "" : found->second;
}

/// "3/8", or "" for a run that is not a shard. Throws std::invalid_argument for values that --shard
/// rejects.
std::string shard_of(const RunRecord& run) {
  if (!run.run.resolved.contains(kShard)) return "";
  std::string shard_text = resolved(run, kShard);
  const std::string_view shard = shard_text;
  const std::size_t slash = std::min(shard.find('/'), shard.size());
  const std::size_t index = number_of(shard.substr(0, slash));
  const std::size_t count = slash < shard.size() ? number_of(shard.substr(slash + 1)) : 0;
  if (index < 1 || index > count) {
    throw std::invalid_argument(fmt::format(
        "the run {} says that it is shard '{}'; allowed: I/N with 1 <= I <= N", run.run.id, shard));
  }
  return shard_text;
}

/// Throws std::invalid_argument for shards of different grids, which never make a complete sweep.
/// Accepts records older than the grid hash, and grids that may differ because of an allowed
/// difference.
void require_one_grid(const std::vector<RunRecord>& runs, const std::vector<std::string>& allowed) {
  for (const std::string_view what : {kBuild, kDevice, kMethod, kFile}) {
    if (is_allowed(allowed, what)) return;
  }
  std::map<std::string, const RunRecord*> of_count;  // the first shard for each count
  for (const RunRecord& run : runs) {
    const std::string shard = shard_of(run), grid = resolved(run, kGrid);
    if (shard.empty() || grid.empty()) continue;
    const auto [found, is_new] = of_count.emplace(shard.substr(shard.find('/')), &run);
    const RunRecord& first = *found->second;
    if (is_new || resolved(first, kGrid) == grid) continue;
    throw std::invalid_argument(fmt::format(
        "the runs {} and {} are shards {} and {} of different grids: their flags, or the files "
        "that these name, were others; to mix them, --allow {}",
        first.run.id, run.run.id, shard_of(first), shard, kMethod));
  }
}

/// N if the runs are shards I/N with one N, else 0.
std::size_t shard_count(const std::vector<RunRecord>& runs) {
  std::set<std::string> counts;
  for (const RunRecord& run : runs) {
    const std::string shard = shard_of(run);
    counts.insert(shard.empty() ? "0" : shard.substr(shard.find('/') + 1));
  }
  return counts.size() == 1 ? number_of(*counts.begin()) : 0;
}

bool is_complete(const std::vector<RunRecord>& runs) {
  return missing_shards(runs).empty() &&
         std::all_of(runs.begin(), runs.end(),
                     [](const RunRecord& run) { return run.run.complete; });
}

void keep_common(Texts& texts, const Texts& others) {
  std::erase_if(texts, [&](const auto& text) {
    const auto other = others.find(text.first);
    return other == others.end() || other->second != text.second;
  });
}

void put_in_order(std::vector<CaseRecord>& cases, bool are_of_shards) {
  if (are_of_shards) {
    std::stable_sort(cases.begin(), cases.end(), [](const CaseRecord& a, const CaseRecord& b) {
      return a.position < b.position;
    });
  }
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].position = i;
}

constexpr std::size_t kMostNamed = 64;

}  // namespace

std::vector<std::string> missing_shards(const std::vector<RunRecord>& runs) {
  std::set<std::string> there, counts;
  for (const RunRecord& run : runs) {
    const std::string shard = shard_of(run);
    there.insert(shard);
    if (!shard.empty()) counts.insert(shard.substr(shard.find('/') + 1));
  }
  std::vector<std::string> missing;
  for (const std::string& count : counts) {
    // A file may claim any number, so it is compared as text.
    std::string index;
    for (std::size_t i = 1; index != count && missing.size() < kMostNamed; ++i) {
      index = std::to_string(i);
      std::string shard = fmt::format("{}/{}", index, count);
      if (!there.contains(shard)) missing.push_back(std::move(shard));
    }
  }
  return missing;
}

RunRecord merge_runs(const std::vector<RunRecord>& runs, const std::vector<std::string>& allowed) {
  if (runs.empty()) throw std::invalid_argument("there is no run to merge");
  if (!is_allowed(allowed, kDuplicates)) require_no_duplicates(runs);
  RunRecord merged = runs.front();
  RunInfo& info = merged.run;
  info.merged_from.emplace();
  info.resumed_from.reset();
  merged.cases.clear();
  for (const RunRecord& run : runs) {
    require_comparable(merged, run, allowed);
    info.merged_from->push_back(run.run.id);
    info.started_at = std::min(info.started_at, run.run.started_at);
    info.finished_at = std::max(info.finished_at, run.run.finished_at);
    keep_common(info.tags, run.run.tags);
    keep_common(info.resolved, run.run.resolved);
    merged.cases.insert(merged.cases.end(), run.cases.begin(), run.cases.end());
  }
  require_one_grid(runs, allowed);
  info.resolved.erase(kShard);
  info.complete = is_complete(runs);
  info.exit_code.reset();
  info.id = to_hex(fnv1a(fmt::format("{}", fmt::join(*info.merged_from, " "))));
  merged.cases = keep_latest(merged.cases);
  put_in_order(merged.cases, shard_count(runs) > 0);
  return merged;
}

}  // namespace sparkbench
