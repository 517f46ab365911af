#include "kernels/mask/pattern/tiles_of_axis.h"

#include "kernels/mask/pattern/order_boxes.h"
#include "kernels/mask/pattern/ordered_words.h"

namespace sparkbench {
namespace {

/// Of a tile of an axis, of which some are keys, the parts of 2^log positions that are wanted.
std::uint64_t wanted_of_tile(const GridOrder& order, int log, WantedParts wanted, int axis,
                             int tile, const Range& keys) {
  const int begin = order.begin_of_tile(axis, tile), own = tile << order.bits[axis];
  const Range tokens = overlap(keys, {most_of(begin, own), begin + order.tile_extent(axis)});
  const int from = tokens.begin - begin, to = tokens.end - begin;
  const int size = 1 << bits_of_axis(order, axis, log);
  if (size == order.tile_extent(axis)) {
    const bool is_whole = wanted == WantedParts::kSome || (from == 0 && to == size);
    return is_whole ? ~std::uint64_t{0} : 0;
  }
  if (wanted == WantedParts::kSome) {
    return positions_on_axis(order, axis, {from & -size, (to + size - 1) & -size});
  }
  return positions_on_axis(order, axis, {(from + size - 1) & -size, to & -size});
}

}  // namespace

void TilesOfAxis::add(int first, int end, std::uint64_t wanted) {
  if (first >= end || wanted == 0) return;
  if (count > 0 && tiles[count - 1].end == first && tiles[count - 1].wanted == wanted) {
    tiles[count - 1].end = end;
  } else {
    tiles[count++] = {first, end, wanted};
  }
}

void find_tiles(const GridOrder& order, int log, WantedParts wanted, int axis, const Range& keys,
                TilesOfAxis& found) {
  found.count = 0;
  if (keys.is_empty()) return;
  const int first = keys.begin >> order.bits[axis], last = (keys.end - 1) >> order.bits[axis];
  found.add(first, first + 1, wanted_of_tile(order, log, wanted, axis, first, keys));
  found.add(first + 1, last, ~std::uint64_t{0});
  if (last > first) {
    found.add(last, last + 1, wanted_of_tile(order, log, wanted, axis, last, keys));
  }
}

}  // namespace sparkbench
