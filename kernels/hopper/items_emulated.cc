#include "kernels/hopper/items_emulated.h"

#include <array>
#include <cstddef>

#include "kernels/base/ceil_divide.h"

namespace sparkbench::hopper {
namespace {

/// Items of a block in a launch that is no sample: as many rounds as a block can differ in.
constexpr int kItemsOfBlock = 3;

}  // namespace

LaunchShape shape_of_items(const LaunchShape& grid, ItemGrid& items) {
  items = {{grid.grid[0], grid.grid[1], grid.grid[2]}, 0, items.order};
  LaunchShape shape = grid;
  shape.blocks.clear();
  shape.work.clear();
  shape.works_by_items = false;
  if (grid.blocks.empty()) {
    items.blocks = ceil_divide(items.items(), kItemsOfBlock);
  } else {
    items.blocks = items.items();
    for (const auto& [x, y, z] : grid.blocks) {
      shape.blocks.push_back({items.item_at(x, y, z), 0, 0});
    }
    for (int item = 0; item < items.items() && !grid.work.empty(); ++item) {
      int place[3];
      items.locate(item, place);
      const int of = grid.works_by_items ? place[1] + grid.grid[1] * place[2] : place[0];
      shape.work.push_back(grid.work[static_cast<std::size_t>(of)]);
    }
  }
  shape.grid = {items.blocks, 1, 1};
  return shape;
}

}  // namespace sparkbench::hopper
