#include "kernels/mask/pattern/ordered_words.h"

#include "kernels/mask/pattern/order_boxes.h"

namespace sparkbench {
namespace {

/// One of every 2^log bits.
constexpr std::uint64_t kRepeated[] = {~std::uint64_t{0},
                                       0x5555'5555'5555'5555,
                                       0x1111'1111'1111'1111,
                                       0x0101'0101'0101'0101,
                                       0x0001'0001'0001'0001,
                                       0x0000'0001'0000'0001,
                                       1};

/// A tile's positions with a coordinate below `end` on an axis.
std::uint64_t positions_below(const GridOrder& order, int axis, int end) {
  const int shift = order.shift[axis], bits = order.bits[axis];
  const int below = std::clamp(end, 0, 1 << bits);
  return key_bits_below(below << shift) * kRepeated[shift + bits];
}

/// A row that owns its token.
struct OrderedRow {
  const GridOrder& key_order;
  Point at;
  int token;
};

/// Of a tile's positions those whose token comes before `token`.
std::uint64_t tokens_before(const GridOrder& order, const OrderBox& tile, int token) {
  const Range span = token_span(order, tile.all);
  if (token <= span.begin) return 0;
  if (span.end <= token) return ~std::uint64_t{0};
  std::uint64_t before = 0;
  for (int axis = kOrderAxes - 1; axis >= 0; --axis) {
    const int at = token % order.extent[axis] - tile.all.range[axis].begin;
    token /= order.extent[axis];
    before =
        positions_below(order, axis, at) | (before & positions_on_axis(order, axis, {at, at + 1}));
  }
  return before;
}

/// Of a tile's positions those that own their token.
std::uint64_t owned_positions(const GridOrder& order, const OrderBox& tile) {
  std::uint64_t owned = ~std::uint64_t{0};
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    const int begin = tile.all.range[axis].begin;
    const Range& range = tile.owned.range[axis];
    if (range.begin != begin) {
      owned &= positions_on_axis(order, axis, {range.begin - begin, range.end - begin});
    }
  }
  return owned;
}

/// Of a tile's positions those that the row sees.
std::uint64_t word_of_tile(const OrderedRow& row, const Term& term, int position) {
  const GridOrder& order = row.key_order;
  const OrderBox tile = box_of(order, position, kOrderTileBits);
  std::uint64_t word = owned_positions(order, tile);
  const Grid& grid = term.grid;
  for (int axis = 0; axis < grid.axes; ++axis) {
    const Zone& zone = grid.zone[axis];
    const int q = row.at.at[axis], begin = tile.all.range[axis].begin;
    if (q < zone.q0 || zone.q1 <= q) return 0;
    const Range keys = axis_keys(grid, axis, q);
    word &= positions_on_axis(order, axis, {keys.begin - begin, keys.end - begin});
  }
  if (word == 0 || term.flat == Zone()) return word;
  if (row.token < term.flat.q0 || term.flat.q1 <= row.token) return 0;
  const Range keys = term.flat.keys(row.token);
  return word & tokens_before(order, tile, keys.end) & ~tokens_before(order, tile, keys.begin);
}

}  // namespace

std::uint64_t positions_on_axis(const GridOrder& order, int axis, const Range& coordinates) {
  return positions_below(order, axis, coordinates.end) &
         ~positions_below(order, axis, coordinates.begin);
}

std::uint64_t ordered_key_word(const Pattern& pattern, const Term& term, int row, int first) {
  const GridOrder& of_rows = *pattern.row_order;
  if (row < 0 || row >= pattern.seqlen_q) return 0;
  std::uint64_t word = 0;
  if (!is_of_order(of_rows, term)) {
    for (int i = 0; i < kWordKeys; ++i) {
      word |= static_cast<std::uint64_t>(sees(pattern, term, row, first + i)) << i;
    }
    return word;
  }
  const GridOrder::Place place = of_rows.place_of_position(row);
  if (!place.owns) return 0;
  const OrderedRow of_row = {*pattern.key_order,
                             {{place.at[0], place.at[1], place.at[2]}},
                             token_at(of_rows, place.at[0], place.at[1], place.at[2])};
  // At most two tiles have keys of the word; `first` may be negative.
  const int into = first & (kOrderTile - 1), tile = first - into;
  if (0 <= tile && tile < pattern.seqlen_k) word = word_of_tile(of_row, term, tile) >> into;
  const int next = tile + kOrderTile;
  if (into != 0 && 0 <= next && next < pattern.seqlen_k) {
    word |= word_of_tile(of_row, term, next) << (kWordKeys - into);
  }
  return word;
}

}  // namespace sparkbench
