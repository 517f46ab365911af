#include "kernels/mask/pattern/enumerated_plan.h"

#include <algorithm>
#include <bit>

#include "kernels/base/ceil_divide.h"

namespace sparkbench::enumerated {
namespace {

/// Collects runs of positions, clipped to some limits, as the parts of `part` keys that they touch.
class RunSink {
 public:
  RunSink(std::vector<Range>& runs, const Range& limits, int key_at, int part)
      : runs_(runs),
        limits_(limits),
        key_at_(key_at),
        part_(part),
        shift_(std::has_single_bit(static_cast<unsigned>(part))
                   ? std::countr_zero(static_cast<unsigned>(part))
                   : -1) {}

  void add(const Range& positions) {
    const Range inside = overlap(positions, limits_);
    if (inside.is_empty()) return;
    const Range run = {part_of(inside.begin - key_at_), part_of(inside.end - 1 - key_at_) + 1};
    if (!runs_.empty() && runs_.back().begin <= run.begin && run.begin <= runs_.back().end) {
      runs_.back().end = most_of(runs_.back().end, run.end);
    } else {
      runs_.push_back(run);
    }
  }
  const Range& limits() const { return limits_; }

 private:
  int part_of(int key) const { return shift_ >= 0 ? key >> shift_ : key / part_; }

  std::vector<Range>& runs_;
  Range limits_;  // positions
  int key_at_, part_, shift_;
};

/// How a grid's runs are added: those with at most `most_gap` keys between them as one; shorter
/// ones than `least_run` keys are left out.
struct RunRule {
  int most_gap, least_run;
};

/// Adds the runs of lines `outer`, `line` apart, each of which has the columns of the box.
void add_lines(const Range& outer, const Range& columns, int line, const RunRule& rule, int from,
               RunSink& sink) {
  if (outer.is_empty() || columns.is_empty()) return;
  if (line - columns.size() <= rule.most_gap) {
    sink.add(
        {from + outer.begin * line + columns.begin, from + (outer.end - 1) * line + columns.end});
    return;
  }
  if (columns.size() < rule.least_run) return;
  for (int at = outer.begin; at < outer.end; ++at) {
    sink.add({from + at * line + columns.begin, from + at * line + columns.end});
  }
}

/// Adds all positions of a box.
void add_box(const Grid& grid, Box box, const RunRule& rule, RunSink& sink) {
  const Range& limits = sink.limits();
  if (limits.is_empty() || is_empty(grid, box)) return;
  const Range first = {coordinates(grid, limits.begin).at[0],
                       coordinates(grid, limits.end - 1).at[0] + 1};
  Range& outer = box.range[0];
  outer = overlap(outer, first);
  if (grid.axes == 1) return sink.add(outer);
  if (grid.axes == 2) return add_lines(outer, box.range[1], grid.extent[1], rule, 0, sink);
  const int line = grid.extent[2], plane = grid.extent[1] * line;
  const Range &lines = box.range[1], &columns = box.range[2];
  if (columns.size() == line) {
    return add_lines(outer, {lines.begin * line, lines.end * line}, plane, rule, 0, sink);
  }
  for (int at = outer.begin; at < outer.end; ++at) {
    add_lines(lines, columns, line, rule, at * plane, sink);
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
                   EnumeratedRuns& runs) {
  const Boxes boxes = boxes_of(term.grid, flat.rows);
  // The keys that each row of all boxes sees are the intersection of their cores, again a box.
  Box common;
  for (Range& range : common.range) range = {-kUnbounded, kUnbounded};
  for (int i = 0; i < boxes.count; ++i) {
    const Box& box = boxes.box[i];
    const Box every = core(term.grid, box);
    for (int axis = 0; axis < term.grid.axes; ++axis) {
      common.range[axis] = overlap(common.range[axis], every.range[axis]);
    }
    const Range of_box = hull(term.flat, span_of(term.grid, box));
    RunSink touched(runs.touched, overlap(flat.hull, of_box), key_at, tile_keys);
    add_box(term.grid, hull(term.grid, box), {tile_keys - 1, 1}, touched);
  }
  RunSink full(runs.full, flat.core, key_at, 1);
  add_box(term.grid, common, {0, tile_keys}, full);
}

struct BeginsBefore {
  bool operator()(const Range& a, const Range& b) const { return a.begin < b.begin; }
};

void join(std::vector<Range>& runs) {
  if (runs.size() < 2) return;
  if (!std::is_sorted(runs.begin(), runs.end(), BeginsBefore())) {
    std::sort(runs.begin(), runs.end(), BeginsBefore());
  }
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].begin <= runs[last].end) {
      runs[last].end = std::max(runs[last].end, runs[i].end);
    } else {
      runs[++last] = runs[i];
    }
  }
  runs.resize(last + 1);
}

/// Adds the runs of a term, in sequence order.
void add_runs(const Pattern& pattern, const Term& term, const Range& rows, int tile_keys,
              EnumeratedRuns& runs) {
  const int key_at = pattern.key_at;
  const Range keys = pattern.key_positions();
  FlatLimits flat = {{rows.begin + pattern.row_at, rows.end + pattern.row_at}, {}, {}};
  flat.hull = overlap(keys, hull(term.flat, flat.rows));
  flat.core = overlap(keys, core(term.flat, flat.rows));
  if (flat.hull.is_empty()) return;
  if (term.grid.axes > 0) return add_grid_runs(term, flat, key_at, tile_keys, runs);
  const Range hull_keys = {flat.hull.begin - key_at, flat.hull.end - key_at};
  const Range core_keys = {flat.core.begin - key_at, flat.core.end - key_at};
  RunSink(runs.touched, hull_keys, 0, tile_keys).add(hull_keys);
  if (!core_keys.is_empty()) runs.full.push_back(core_keys);
}

/// Replaces key intervals by the intervals of tiles that they fill.
void fill_tiles(std::vector<Range>& runs, int keys) {
  join(runs);
  for (Range& run : runs) run = {ceil_divide(run.begin, keys), run.end / keys};
}

/// Touched tiles, and among them the full ones, as spans.
void add_spans(const EnumeratedRuns& tiles, TilePlan& plan) {
  const auto add = [&](int begin, int end, TileCover cover) {
    if (begin >= end) return;
    plan.spans.push_back({begin, end, cover});
    (cover == TileCover::kFull ? plan.full_tiles : plan.cut_tiles) +=
        static_cast<std::uint64_t>(end - begin);
  };
  std::size_t next = 0;
  for (const Range& touched : tiles.touched) {
    int at = touched.begin;
    for (; next < tiles.full.size() && tiles.full[next].begin < touched.end; ++next) {
      if (tiles.full[next].is_empty()) continue;
      add(at, tiles.full[next].begin, TileCover::kCut);
      add(tiles.full[next].begin, tiles.full[next].end, TileCover::kFull);
      at = tiles.full[next].end;
    }
    add(at, touched.end, TileCover::kCut);
  }
}

}  // namespace

bool can_be_enumerated(const Pattern& pattern, int head) {
  const std::vector<Term>& terms = pattern.terms(head);
  return std::all_of(terms.begin(), terms.end(),
                     [](const Term& term) { return term.is_closed_form(); });
}

TilePlan enumerated_plan(const Pattern& pattern, int head, int rows, int keys) {
  TilePlan plan{pattern.seqlen_q, pattern.seqlen_k, rows, keys};
  plan.first_spans.push_back(0);
  for (int first = 0; first < pattern.seqlen_q; first += rows) {
    const Range of_tile = {first, std::min(first + rows, pattern.seqlen_q)};
    EnumeratedRuns runs;
    for (const Term& term : pattern.terms(head)) {
      add_runs(pattern, term, of_tile, keys, runs);
    }
    join(runs.touched);
    fill_tiles(runs.full, keys);
    add_spans(runs, plan);
    plan.first_spans.push_back(static_cast<int>(plan.spans.size()));
  }
  return plan;
}

}  // namespace sparkbench::enumerated
