#include "kernels/mask/pattern/ordered_runs.h"

#include "kernels/mask/pattern/order_boxes.h"
#include "kernels/mask/pattern/part_walk.h"

namespace sparkbench {

OrderedRuns::OrderedRuns(const OrderFrames& frames, const Term& term, int tile_keys,
                         WantedRuns wanted)
    : of_rows_(frames.of_rows),
      of_keys_(frames.of_keys),
      flat_(term.flat),
      grid_(grid_of_order(of_rows_.order, term)),
      tile_(tile_keys),
      wanted_(wanted),
      sees_alike_(term.flat == Zone{} && grid_.clamp == Clamp::kNone &&
                  of_rows_.joined < grid_.axes && is_of_any_offset(grid_.zone[of_rows_.joined])) {
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    const int tiles = axis == of_rows_.outer ? 1 : of_rows_.order.tiles_of_axis(axis);
    of_axis_[axis].resize(static_cast<std::size_t>(tiles));
  }
}

const OrderedRuns::OfAxis& OrderedRuns::of_axis(int axis, const Range& rows) {
  const int tile = axis == of_rows_.outer ? 0 : rows.begin >> of_rows_.order.bits[axis];
  OfAxis& of_axis = of_axis_[axis][static_cast<std::size_t>(tile)];
  if (!are_same(of_axis.rows, rows)) find_of_axis(axis, rows, of_axis);
  return of_axis;
}

void OrderedRuns::find_of_axis(int axis, const Range& rows, OfAxis& found) const {
  const GridOrder& order = of_keys_.order;
  const Range all = {0, order.extent[axis]};
  const bool has_axis = axis < grid_.axes;
  found.rows = rows;
  found.hull = has_axis ? overlap(axis_hull(grid_, axis, rows), all) : all;
  found.core = has_axis ? overlap(axis_core(grid_, axis, rows), all) : all;
  find_tiles(order, of_keys_.log, WantedParts::kSome, axis, found.hull, found.some);
  find_tiles(order, of_keys_.log, WantedParts::kEach, axis, found.core, found.each);
}

void OrderedRuns::add_touched(const RunLines& keys, KeyRuns& runs) const {
  if (keys.count == 1 || tile_.divides(keys.pitch)) {
    add_lines({parts_touched(keys.first, tile_), tile_(keys.pitch), keys.count}, runs.touched);
  } else {
    for (int i = 0; i < keys.count; ++i) add_run(parts_touched(keys.line(i), tile_), runs.touched);
  }
}

void OrderedRuns::add(const OrderedRows& rows, KeyRuns& runs) {
  if (!sees_alike_ || rows.boxes.size() != 1) return add_found(rows, runs);
  const Box& box = rows.boxes.front();
  const OfAxis& seen = of_axis(of_rows_.joined, box.range[of_rows_.joined]);
  bool are_same_rows = last_.is_there && last_.own_all == rows.own_all &&
                       are_same(last_.hull, seen.hull) && are_same(last_.core, seen.core);
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    are_same_rows &= axis == of_rows_.joined || are_same(last_.rows.range[axis], box.range[axis]);
  }
  if (!are_same_rows) {
    last_.is_there = true;
    last_.own_all = rows.own_all;
    last_.rows = box;
    last_.hull = seen.hull;
    last_.core = seen.core;
    last_.runs.clear();
    add_found(rows, last_.runs);
  }
  for (const RunLines& lines : last_.runs.touched) add_lines(lines, runs.touched);
  for (const RunLines& lines : last_.runs.full) add_lines(lines, runs.full);
}

void OrderedRuns::add_found(const OrderedRows& rows, KeyRuns& runs) {
  const auto touched = [&](const RunLines& keys) { add_touched(keys, runs); };
  const auto full = [&](const RunLines& keys) { add_lines(keys, runs.full); };
  KeysOfAxes some, each;
  Range common[kOrderAxes];
  for (const Box& box : rows.boxes) {
    const bool is_first = &box == &rows.boxes.front();
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      const OfAxis& seen = of_axis(axis, box.range[axis]);
      some.tiles[axis] = &seen.some;
      each.tiles[axis] = &seen.each;
      common[axis] = is_first ? seen.core : overlap(common[axis], seen.core);
      if (axis == 0) some.outermost = seen.hull;
    }
    const bool is_alone = rows.boxes.size() == 1;
    const Range flat = hull(flat_, is_alone ? rows.span : token_span(of_rows_.order, box));
    PartWalk(of_keys_, WantedParts::kSome, flat, touched).walk(some);
  }
  if (wanted_ == WantedRuns::kTouched || rows.boxes.empty() || !rows.own_all) return;
  TilesOfAxis of_common[kOrderAxes];
  for (int axis = 0; rows.boxes.size() > 1 && axis < kOrderAxes; ++axis) {
    find_tiles(of_keys_.order, of_keys_.log, WantedParts::kEach, axis, common[axis],
               of_common[axis]);
    each.tiles[axis] = &of_common[axis];
  }
  each.outermost = common[0];
  PartWalk(of_keys_, WantedParts::kEach, core(flat_, rows.span), full).walk(each);
}

}  // namespace sparkbench
