#include "kernels/mask/pattern/acsr.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/key_runs.h"

namespace sparkbench {
namespace {

int last_key(const AcsrRow& row) { return row.offset + (row.count - 1) * row.stride; }

/// Key intervals as an arithmetic progression, if they are one.
std::optional<AcsrRow> progression(std::vector<Range> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  AcsrRow row;
  for (const Range& run : runs) {
    const int end = row.count == 0 ? run.begin : last_key(row) + 1;
    const bool is_one_run = row.count == 0 || row.stride == 1;
    if (row.count == 0) {
      row = {run.begin, 1, run.size()};
    } else if (is_one_run && run.begin <= end) {
      row.count = std::max(row.count, run.end - row.offset);
    } else if (run.end <= end) {
      // The same single key from two terms.
      if ((run.begin - row.offset) % row.stride != 0 || run.size() != 1) return std::nullopt;
    } else {
      if (run.size() != 1 || (row.stride == 1 && row.count > 1)) return std::nullopt;
      const int stride = run.begin - (end - 1);
      if (row.count > 1 && stride != row.stride) return std::nullopt;
      row.stride = stride;
      ++row.count;
    }
  }
  return row;
}

/// The keys of a row if the term shows, in each line of keys, only the row's own column: computed
/// without a look at each line. nullopt for any other term.
std::optional<AcsrRow> own_column(const Pattern& pattern, const Term& term, int row) {
  const Grid& grid = term.grid;
  if (!term.is_closed_form() || term.hidden_by != 0 || grid.axes != 2 ||
      grid.clamp != Clamp::kNone || grid.zone[1] != zone_of_offsets(0, 1)) {
    return std::nullopt;
  }
  const int p = row + pattern.row_at, extent = grid.extent[1];
  const int line = floor_divide(p, extent), column = p - line * extent;
  const auto has_row = [](const Zone& zone, int q) { return zone.q0 <= q && q < zone.q1; };
  if (!has_row(term.flat, p) || !has_row(grid.zone[0], line)) return AcsrRow{};
  const Range keys = overlap(term.flat.keys(p), pattern.key_positions());
  const Range in_keys = {-floor_divide(column - keys.begin, extent),
                         floor_divide(keys.end - 1 - column, extent) + 1};
  const Range lines = overlap(grid.zone[0].keys(line), in_keys);
  if (keys.is_empty() || lines.is_empty()) return AcsrRow{};
  return AcsrRow{lines.begin * extent + column - pattern.key_at, lines.size() > 1 ? extent : 1,
                 lines.size()};
}

}  // namespace

std::vector<AcsrRow> acsr_of(const Pattern& pattern, int head) {
  std::vector<AcsrRow> rows;
  KeyRuns runs;
  KeyRunFinder finder(pattern, head, 1);
  const std::vector<Term>& terms = pattern.terms(head);
  for (int row = 0; row < pattern.seqlen_q; ++row) {
    const auto column = terms.size() == 1 ? own_column(pattern, terms.front(), row) : std::nullopt;
    if (column) {
      rows.push_back(*column);
      continue;
    }
    // For one row and tiles of one key, the touched keys are the visible ones.
    finder.find({row, row + 1}, runs);
    const std::optional<AcsrRow> affine = progression(one_by_one(runs.touched));
    if (!affine) {
      throw std::invalid_argument("the keys of row " + std::to_string(row) +
                                  " are in no arithmetic progression");
    }
    rows.push_back(*affine);
  }
  return rows;
}

}  // namespace sparkbench
