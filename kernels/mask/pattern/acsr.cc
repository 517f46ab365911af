#include "kernels/mask/pattern/acsr.h"

#include <algorithm>
#include <cstdint>
#include <functional>
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

void check_row(std::size_t index, const AcsrRow& row, int seqlen_k) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("row " + std::to_string(index) + " " + why);
  };
  if (row.count < 0) refuse("has " + std::to_string(row.count) + " keys; allowed: 0 and more");
  if (row.count == 0) return;
  if (row.count > 1 && row.stride < 1) {
    refuse("has stride " + std::to_string(row.stride) + "; allowed: 1 and more");
  }
  const std::int64_t steps = row.count > 1 ? (std::int64_t{row.count} - 1) * row.stride : 0;
  if (row.offset < 0 || row.offset + steps >= seqlen_k) {
    refuse("sees the keys " + std::to_string(row.offset) + " to " +
           std::to_string(row.offset + steps) + "; allowed: 0 to " + std::to_string(seqlen_k - 1));
  }
}

/// A band of keys, of lines of keys, or of a column's keys: the patterns that need no memory.
struct Candidate {
  int line = 1;            // keys
  bool is_column = false;  // in each line only the row's own column
  Zone lines;

  Term term(int seqlen_k) const {
    if (line == 1) return {.flat = lines};
    Term term;
    term.grid.axes = 2;
    term.grid.extent[0] = ceil_divide(seqlen_k, line);
    term.grid.extent[1] = line;
    term.grid.zone[0] = lines;
    if (is_column) term.grid.zone[1] = zone_of_offsets(0, 1);
    return term;
  }

  /// The keys that a row at q sees, as an AcsrRow.
  AcsrRow row(int q, int seqlen_k) const {
    const int at = floor_divide(q, line);
    const Range seen = overlap(lines.keys(at), {0, ceil_divide(seqlen_k, line)});
    if (seen.is_empty()) return {};
    if (!is_column) {
      const int end = least_of(seen.end * line, seqlen_k);
      return {seen.begin * line, 1, end - seen.begin * line};
    }
    const int column = q - at * line;
    const int count = (seen.end - 1) * line + column < seqlen_k ? seen.size() : seen.size() - 1;
    if (count == 0) return {};
    return {seen.begin * line + column, count > 1 ? line : 1, count};
  }
};

/// The narrowest candidate of these lines that shows at least the rows' first and last keys.
Candidate narrowest(std::span<const AcsrRow> rows, int row_at, int line, bool is_column) {
  Candidate candidate{line, is_column, zone_of_offsets(kUnbounded, -kUnbounded)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].count == 0) continue;
    const int at = floor_divide(static_cast<int>(i) + row_at, line);
    Zone& lines = candidate.lines;
    lines.d0 = std::min(lines.d0, rows[i].offset / line - at);
    lines.d1 = std::max(lines.d1, last_key(rows[i]) / line - at + 1);
  }
  return candidate;
}

std::vector<Candidate> candidates(std::span<const AcsrRow> rows, int row_at) {
  std::vector<Candidate> all = {narrowest(rows, row_at, 1, false)};
  const auto other =
      std::find_if(rows.begin(), rows.end(), [&](const AcsrRow& row) { return !(row == rows[0]); });
  const auto alike = static_cast<int>(other - rows.begin());
  if (alike > 1) all.push_back(narrowest(rows, row_at, alike, false));
  const auto strided =
      std::find_if(rows.begin(), rows.end(), [](const AcsrRow& row) { return row.stride > 1; });
  if (strided != rows.end()) all.push_back(narrowest(rows, row_at, strided->stride, true));
  return all;
}

/// nullptr unless strides are 1 and neither end ever falls.
SharedBounds rising_bounds(std::span<const AcsrRow> rows, int seqlen_k) {
  std::vector<int> begin, end;
  int last_begin = 0, last_end = 0;
  for (const AcsrRow& row : rows) {
    // A row without keys may stand anywhere.
    const int next_begin = row.count > 0 ? row.offset : std::max(last_begin, last_end);
    const int next_end = row.count > 0 ? row.offset + row.count : last_end;
    if (row.stride > 1 || next_begin < last_begin || next_end < last_end) return nullptr;
    begin.push_back(last_begin = next_begin);
    end.push_back(last_end = next_end);
  }
  return make_row_bounds(std::move(begin), std::move(end), seqlen_k);
}

SharedBits bits_with(std::span<const AcsrRow> rows, int seqlen_k) {
  BitRows bits(static_cast<int>(rows.size()), seqlen_k);
  for (int row = 0; row < bits.rows; ++row) {
    const AcsrRow& affine = rows[static_cast<std::size_t>(row)];
    for (int i = 0; i < affine.count; ++i) {
      const int key = affine.offset + i * affine.stride;
      bits.row(row)[static_cast<std::size_t>(key / kWordKeys)] |= std::uint64_t{1}
                                                                  << (key % kWordKeys);
    }
  }
  return std::make_shared<const BitRows>(std::move(bits));
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

Pattern pattern_of(std::span<const AcsrRow> rows, int seqlen_k) {
  Pattern pattern = empty_pattern(static_cast<int>(rows.size()), seqlen_k);
  std::vector<AcsrRow> normal(rows.begin(), rows.end());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check_row(i, rows[i], seqlen_k);
    if (rows[i].count == 0) normal[i] = {};
    if (rows[i].count == 1) normal[i].stride = 1;
  }
  for (const Candidate& candidate : candidates(normal, pattern.row_at)) {
    int row = 0;
    const bool is_it = std::all_of(normal.begin(), normal.end(), [&](const AcsrRow& affine) {
      return candidate.row(pattern.row_at + row++, seqlen_k) == affine;
    });
    if (!is_it) continue;
    pattern.unions = {{candidate.term(seqlen_k)}};
    return pattern;
  }
  Term term;
  term.bounds = rising_bounds(normal, seqlen_k);
  if (term.bounds == nullptr) term.bits = bits_with(normal, seqlen_k);
  pattern.unions = {{term}};
  return pattern;
}

}  // namespace sparkbench
