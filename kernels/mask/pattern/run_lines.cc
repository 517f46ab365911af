#include "kernels/mask/pattern/run_lines.h"

#include <algorithm>

namespace sparkbench {
namespace {

struct BeginsBefore {
  bool operator()(const RunLines& a, const RunLines& b) const {
    return a.first.begin < b.first.begin;
  }
};

using Index = std::vector<RunLines>::difference_type;

/// How often lines are split because others are between them, before all are split into single
/// runs.
constexpr int kMostSplits = 8;

/// How many of the lines end before `number`, without meeting it.
int lines_before(const RunLines& lines, int number) {
  const int after = number - lines.first.end;
  return after <= 0 || lines.count == 1 ? 0 : (after - 1) / lines.pitch + 1;
}

/// Keeps the first `count` lines of runs[at], and moves the others in order to runs[from] and on.
void split(std::vector<RunLines>& runs, std::size_t at, int count, std::size_t from) {
  RunLines others = runs[at];
  others.first = others.line(count);
  others.count -= count;
  runs[at].count = count;
  runs.insert(
      std::lower_bound(runs.begin() + static_cast<Index>(from), runs.end(), others, BeginsBefore()),
      others);
}

/// Joins runs that are sorted; false if that takes too many splits. Either way `runs` has the same
/// numbers as before, sorted except for those that are not joined any further.
bool join_lines(std::vector<RunLines>& runs) {
  std::size_t last = 0;
  int splits = 0;
  for (std::size_t i = 1; i < runs.size();) {
    if (runs[i].first.begin > runs[last].end()) {
      runs[++last] = runs[i++];
      continue;
    }
    const Range tail = runs[last].last();
    if (runs[last].count > 1 && runs[i].count == 1 && tail.begin <= runs[i].first.begin) {
      --runs[last].count;
      const Range both = {tail.begin, std::max(tail.end, runs[i++].first.end)};
      runs[++last] = {both};
      continue;
    }
    if ((runs[last].count > 1 || runs[i].count > 1) && ++splits > kMostSplits) {
      runs.erase(runs.begin() + static_cast<Index>(last) + 1, runs.begin() + static_cast<Index>(i));
      return false;
    }
    const int before = lines_before(runs[last], runs[i].first.begin);
    if (before > 0) {
      split(runs, last, before, i);
      continue;
    }
    // The first lines of both meet.
    if (runs[i].count > 1) split(runs, i, 1, i + 1);
    if (runs[last].count > 1) split(runs, last, 1, i + 1);
    runs[last].first.end = std::max(runs[last].first.end, runs[i++].first.end);
  }
  runs.resize(last + 1);
  return true;
}

}  // namespace

void join(std::vector<RunLines>& runs) {
  if (runs.size() < 2) return;
  if (!std::is_sorted(runs.begin(), runs.end(), BeginsBefore())) {
    std::sort(runs.begin(), runs.end(), BeginsBefore());
  }
  if (join_lines(runs)) return;
  take_apart(runs);
  if (!std::is_sorted(runs.begin(), runs.end(), BeginsBefore())) {
    std::sort(runs.begin(), runs.end(), BeginsBefore());
  }
  join_lines(runs);
}

std::vector<Range> one_by_one(const std::vector<RunLines>& runs) {
  std::vector<Range> all;
  for (const RunLines& lines : runs) {
    for (int i = 0; i < lines.count; ++i) all.push_back(lines.line(i));
  }
  return all;
}

void take_apart(std::vector<RunLines>& runs) {
  std::vector<RunLines> apart;
  for (const Range& run : one_by_one(runs)) apart.push_back({run});
  runs.swap(apart);
}

std::int64_t size_of(const std::vector<RunLines>& runs) {
  std::int64_t size = 0;
  for (const RunLines& lines : runs) size += std::int64_t{lines.count} * lines.first.size();
  return size;
}

}  // namespace sparkbench
