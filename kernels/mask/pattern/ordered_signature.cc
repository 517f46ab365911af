#include "kernels/mask/pattern/ordered_signature.h"

#include "kernels/mask/pattern/order_boxes.h"

namespace sparkbench {
namespace {

/// Of each coordinate of an axis that rows have, where in the keys' box what it sees begins and
/// ends.
void add_windows(const Grid& grid, int axis, const OrderBox& rows, const OrderBox& keys,
                 std::vector<int>& numbers) {
  const Range &of_keys = keys.owned.range[axis], &owned = rows.owned.range[axis];
  const Zone& zone = grid.zone[axis];
  const int first_key = keys.all.range[axis].begin;
  for (int q = rows.all.range[axis].begin; q < rows.all.range[axis].end; ++q) {
    const bool is_row = owned.contains(q) && zone.q0 <= q && q < zone.q1;
    const Range seen = is_row ? overlap(axis_keys(grid, axis, q), of_keys) : Range{0, 0};
    const int begin = seen.begin - first_key, end = seen.end - first_key;  // at most kOrderTile
    numbers.push_back(seen.is_empty() ? 0 : begin << (kOrderTileBits + 1) | end);
  }
}

/// What a flat zone leaves of two boxes: nothing, all, or what its bounds say of their tokens.
void add_flat(const GridOrder& order, const Zone& flat, const OrderBox& rows, const OrderBox& keys,
              std::vector<int>& numbers) {
  const Range q = token_span(order, rows.all), k = token_span(order, keys.all);
  if (overlap(hull(flat, q), k).is_empty()) return numbers.push_back(0);
  if (core(flat, q).contains(k)) return numbers.push_back(1);
  const auto bound = [&](int at, const Range& span) {
    numbers.push_back(std::clamp(at - span.begin, 0, span.size()));
  };
  numbers.insert(numbers.end(), {2, k.begin - q.begin});
  bound(flat.q0, q);
  bound(flat.q1, q);
  bound(flat.k0, k);
  bound(flat.k1, k);
}

}  // namespace

bool add_ordered_signature(const Pattern& pattern, const Term& term, const Range& rows,
                           const Range& keys, std::vector<int>& numbers) {
  const GridOrder& order = *pattern.row_order;
  if (!is_of_order(order, term) || term.hidden_by != 0) return false;
  const Grid grid = grid_of_order(order, term);
  for (int row = rows.begin, row_log = 0; row < rows.end; row += 1 << row_log) {
    row_log = log_of_part(row, rows.end);
    const OrderBox of_rows = box_of(order, row, row_log);
    for (int key = keys.begin, key_log = 0; key < keys.end; key += 1 << key_log) {
      key_log = log_of_part(key, keys.end);
      const OrderBox of_keys = box_of(*pattern.key_order, key, key_log);
      numbers.insert(numbers.end(), {row_log, key_log});
      for (int axis = 0; axis < grid.axes; ++axis) {
        add_windows(grid, axis, of_rows, of_keys, numbers);
      }
      if (!(term.flat == Zone())) add_flat(order, term.flat, of_rows, of_keys, numbers);
    }
  }
  return true;
}

}  // namespace sparkbench
