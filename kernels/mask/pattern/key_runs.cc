#include "kernels/mask/pattern/key_runs.h"

#include <algorithm>
#include <numeric>

namespace sparkbench {
namespace {

/// Collects runs of positions, clipped to some limits, as the parts of `part` keys that they touch.
class RunSink {
 public:
  RunSink(std::vector<RunLines>& runs, const Range& limits, int key_at, int part)
      : runs_(runs), limits_(limits), key_at_(key_at), part_(part) {}

  void add(const Range& positions) {
    const Range inside = overlap(positions, limits_);
    if (!inside.is_empty()) add_run(parts_of(inside), runs_);
  }

  /// No run of the lines may be empty.
  void add(RunLines lines) {
    for (; lines.count > 0 && lines.first.begin < limits_.begin; --lines.count) {
      add(lines.first);
      lines.first = lines.line(1);
    }
    Range cut = {0, 0};  // the run that begins within the limits and reaches beyond them
    for (; lines.count > 0 && lines.end() > limits_.end; --lines.count) cut = lines.last();
    if (lines.count > 0 && part_.divides(lines.pitch)) {
      add_lines({parts_of(lines.first), part_(lines.pitch), lines.count}, runs_);
    } else {
      for (int i = 0; i < lines.count; ++i) add_run(parts_of(lines.line(i)), runs_);
    }
    add(cut);
  }

  const Range& limits() const { return limits_; }

 private:
  Range parts_of(const Range& positions) const {
    return parts_touched({positions.begin - key_at_, positions.end - key_at_}, part_);
  }

  std::vector<RunLines>& runs_;
  Range limits_;  // positions
  int key_at_;
  DivideBy part_;
};

/// How a grid's runs are added: those with at most `most_gap` keys between them as one; shorter
/// ones than `least_run` keys are left out.
struct RunRule {
  int most_gap, least_run;
};

/// Adds the runs of lines `outer`, `line` apart, each of which has the columns of the box.
void add_columns(const Range& outer, const Range& columns, int line, const RunRule& rule, int from,
                 RunSink& sink) {
  if (outer.is_empty() || columns.is_empty()) return;
  const int first = from + outer.begin * line;
  if (line - columns.size() <= rule.most_gap) {
    sink.add(Range{first + columns.begin, from + (outer.end - 1) * line + columns.end});
  } else if (columns.size() >= rule.least_run) {
    sink.add(RunLines{{first + columns.begin, first + columns.end}, line, outer.size()});
  }
}

/// Distance between positions that are adjacent on the outermost axis.
int pitch_of(const Grid& grid) {
  int pitch = 1;
  for (int axis = 1; axis < grid.axes; ++axis) pitch *= grid.extent[axis];
  return pitch;
}

/// The lines, `pitch` apart, that have positions of a range, which is not empty. Divides only where
/// some lines have none.
Range on_lines_of(const Range& positions, Range lines, int pitch) {
  if (std::int64_t{lines.begin} * pitch < positions.begin) {
    const int first = positions.begin == 0 ? 0 : floor_divide(positions.begin, pitch);
    lines.begin = most_of(lines.begin, first);
  }
  if (std::int64_t{lines.end} * pitch > positions.end) {
    lines.end = least_of(lines.end, floor_divide(positions.end - 1, pitch) + 1);
  }
  return lines;
}

/// Adds all positions of a box.
void add_box(const Grid& grid, Box box, const RunRule& rule, RunSink& sink) {
  const Range& limits = sink.limits();
  if (limits.is_empty() || is_empty(grid, box)) return;
  Range& outer = box.range[0];
  outer = on_lines_of(limits, outer, pitch_of(grid));
  if (grid.axes == 1) return sink.add(outer);
  if (grid.axes == 2) return add_columns(outer, box.range[1], grid.extent[1], rule, 0, sink);
  const int line = grid.extent[2], plane = grid.extent[1] * line;
  const Range &lines = box.range[1], &columns = box.range[2];
  if (columns.size() == line) {
    return add_columns(outer, {lines.begin * line, lines.end * line}, plane, rule, 0, sink);
  }
  for (int at = outer.begin; at < outer.end; ++at) {
    add_columns(lines, columns, line, rule, at * plane, sink);
  }
}

/// Some rows, as positions, and the keys that flat zones and arrays let some of them (hull) and all
/// of them (core) see.
struct FlatLimits {
  Range rows, hull, core;
};

/// The positions from a box's first to its last.
Range span_of(const Grid& grid, const Box& box) {
  Range span = {box.range[0].begin, box.range[0].end - 1};
  for (int axis = 1; axis < grid.axes; ++axis) {
    span.begin = span.begin * grid.extent[axis] + box.range[axis].begin;
    span.end = span.end * grid.extent[axis] + box.range[axis].end - 1;
  }
  return {span.begin, span.end + 1};
}

void add_grid_runs(const Term& term, const FlatLimits& flat, int key_at, int tile_keys,
                   KeyRuns& runs) {
  const Boxes boxes = boxes_of(term.grid, flat.rows);
  for (int i = 0; i < boxes.count; ++i) {
    const Box& box = boxes.box[i];
    const Range of_box = hull(term.flat, span_of(term.grid, box));
    RunSink touched(runs.touched, overlap(flat.hull, of_box), key_at, tile_keys);
    add_box(term.grid, hull(term.grid, box), {tile_keys - 1, 1}, touched);
  }
  if (flat.core.is_empty()) return;
  // The keys that each row of all boxes sees are the intersection of their cores, again a box.
  Box common;
  for (Range& range : common.range) range = {-kUnbounded, kUnbounded};
  for (int i = 0; i < boxes.count; ++i) {
    const Box every = core(term.grid, boxes.box[i]);
    for (int axis = 0; axis < term.grid.axes; ++axis) {
      common.range[axis] = overlap(common.range[axis], every.range[axis]);
    }
  }
  RunSink full(runs.full, flat.core, key_at, 1);
  add_box(term.grid, common, {0, tile_keys}, full);
}

/// The OR (any) and the AND (every) of the mask words of some rows. Reads each row once, four at a
/// time, because reading is all that mask bits cost.
struct JoinedWords {
  std::vector<std::uint64_t> any, every;

  JoinedWords(const BitRows& bits, const Range& rows)
      : any(bits.row_words, 0), every(bits.row_words, ~std::uint64_t{0}) {
    std::uint64_t *const any_words = any.data(), *const every_words = every.data();
    const std::size_t count = bits.row_words;
    int row = rows.begin;
    for (; row + 4 <= rows.end; row += 4) {
      const std::uint64_t *const a = bits.row(row).data(), *const b = a + count,
                                 *const c = b + count, *const d = c + count;
      for (std::size_t i = 0; i < count; ++i) {
        any_words[i] |= (a[i] | b[i]) | (c[i] | d[i]);
        every_words[i] &= (a[i] & b[i]) & (c[i] & d[i]);
      }
    }
    for (; row < rows.end; ++row) {
      const std::uint64_t* const words = bits.row(row).data();
      for (std::size_t i = 0; i < count; ++i) {
        any_words[i] |= words[i];
        every_words[i] &= words[i];
      }
    }
  }
};

/// Adds the parts of a tile that some row sees, and those that each row sees. Limits are indices.
void add_bit_runs(const BitRows& bits, const FlatLimits& limits, int tile_keys, KeyRuns& runs) {
  const JoinedWords words(bits, limits.rows);
  // Parts that no tile boundary crosses.
  const int part = std::gcd(tile_keys, kWordKeys);
  const std::uint64_t part_bits = key_bits_below(part);
  RunSink touched(runs.touched, limits.hull, 0, tile_keys), full(runs.full, limits.core, 0, 1);
  for (std::size_t i = 0; i < bits.row_words; ++i) {
    if (words.any[i] == 0) continue;
    const int first = static_cast<int>(i) * kWordKeys;
    for (int at = 0; at < kWordKeys; at += part) {
      const Range keys = {first + at, least_of(first + at + part, bits.keys)};
      if ((words.any[i] >> at & part_bits) == 0) continue;
      touched.add(keys);
      const std::uint64_t wanted = key_bits(keys, first) >> at;
      if ((words.every[i] >> at & part_bits) == wanted) full.add(keys);
    }
  }
}

/// How some rows see some keys, by mask words, until it is clear.
TileCover cover_by_words(const Pattern& pattern, const Term& term, const Range& rows,
                         const Range& keys) {
  bool is_any_seen = false, is_any_hidden = false;
  for (int row = rows.begin; row < rows.end; ++row) {
    for (int first = keys.begin; first < keys.end; first += kWordKeys) {
      const std::uint64_t wanted = key_bits(keys, first);
      const std::uint64_t seen = key_word(pattern, term, row, first) & wanted;
      is_any_seen = is_any_seen || seen != 0;
      is_any_hidden = is_any_hidden || seen != wanted;
      if (is_any_seen && is_any_hidden) return TileCover::kCut;
    }
  }
  return is_any_seen ? TileCover::kFull : TileCover::kEmpty;
}

/// Limits are indices. Goes tile by tile, first by bounds of the expression.
void add_predicate_runs(const Pattern& pattern, const Term& term, const FlatLimits& limits,
                        int tile_keys, KeyRuns& runs) {
  const bool is_expression_alone =
      term.grid.axes == 0 && term.bounds == nullptr && term.bits == nullptr;
  RunSink touched(runs.touched, limits.hull, 0, tile_keys), full(runs.full, limits.hull, 0, 1);
  const int first_tile = limits.hull.begin / tile_keys * tile_keys;
  for (int first = first_tile; first < limits.hull.end; first += tile_keys) {
    const Range keys = overlap(limits.hull, {first, first + tile_keys});
    const TileCover of_expression =
        term.where->cover({limits.rows.begin + pattern.row_at, limits.rows.end + pattern.row_at},
                          {keys.begin + pattern.key_at, keys.end + pattern.key_at});
    if (of_expression == TileCover::kEmpty) continue;
    if (of_expression == TileCover::kFull && is_expression_alone) {
      touched.add(keys);
      full.add(overlap(keys, limits.core));
      continue;
    }
    const TileCover cover = cover_by_words(pattern, term, limits.rows, keys);
    if (cover != TileCover::kEmpty) touched.add(keys);
    if (cover == TileCover::kFull) full.add(keys);
  }
}

}  // namespace

KeyRunFinder::KeyRunFinder(const Pattern& pattern, int head, int tile_keys)
    : pattern_(pattern), terms_(pattern.terms(head)), tile_keys_(tile_keys) {}

void KeyRunFinder::find(const Range& rows, KeyRuns& runs) const {
  runs.clear();
  for (const Term& term : terms_) add(term, rows, runs);
}

void KeyRunFinder::add(const Term& term, const Range& rows, KeyRuns& runs) const {
  const int key_at = pattern_.key_at;
  const Range keys = pattern_.key_positions();
  FlatLimits flat = {{rows.begin + pattern_.row_at, rows.end + pattern_.row_at}, {}, {}};
  flat.hull = overlap(keys, hull(term.flat, flat.rows));
  flat.core = overlap(keys, core(term.flat, flat.rows));
  if (term.bounds != nullptr) {
    const Range first = term.bounds->keys(rows.begin), last = term.bounds->keys(rows.end - 1);
    flat.hull = overlap(flat.hull, {first.begin + key_at, last.end + key_at});
    flat.core = overlap(flat.core, {last.begin + key_at, first.end + key_at});
  }
  if (flat.hull.is_empty()) return;
  const Range hull_keys = {flat.hull.begin - key_at, flat.hull.end - key_at};
  const Range core_keys = {flat.core.begin - key_at, flat.core.end - key_at};
  if (term.where != nullptr) {
    add_predicate_runs(pattern_, term, {rows, hull_keys, core_keys}, tile_keys_, runs);
  } else if (term.bits != nullptr) {
    // With a grid no tile counts as full: the mask bits of each row tell what the grid hides.
    const Range every = term.grid.axes > 0 ? Range{0, 0} : core_keys;
    add_bit_runs(*term.bits, {rows, hull_keys, every}, tile_keys_, runs);
  } else if (term.grid.axes > 0) {
    add_grid_runs(term, flat, key_at, tile_keys_, runs);
  } else {
    RunSink(runs.touched, hull_keys, 0, tile_keys_).add(hull_keys);
    if (!core_keys.is_empty()) runs.full.push_back({core_keys});
  }
}

}  // namespace sparkbench
