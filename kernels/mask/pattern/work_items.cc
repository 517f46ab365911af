#include "kernels/mask/pattern/work_items.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>
#include <string>

#include "kernels/ceil_divide.h"

namespace sparkbench {

std::vector<WorkItem> work_items(std::span<const TilePlan> plans, int heads, int most_tiles) {
  if (most_tiles < 0) {
    throw std::invalid_argument("items of at most " + std::to_string(most_tiles) +
                                " tiles; allowed: 1 and more, or 0 to split none");
  }
  std::vector<WorkItem> items;
  for (int head = 0; head < heads; ++head) {
    const TilePlan& plan = plans[static_cast<std::size_t>(head) % plans.size()];
    for (int row_tile = 0; row_tile < plan.row_tiles(); ++row_tile) {
      const int tiles = plan.tiles_of(row_tile);
      if (tiles == 0) continue;
      const int parts = most_tiles == 0 ? 1 : ceil_divide(tiles, most_tiles);
      for (int part = 0, first = 0; part < parts; ++part) {
        const int next = static_cast<int>(std::int64_t{tiles} * (part + 1) / parts);
        items.push_back({head, row_tile, first, next - first, part, parts});
        first = next;
      }
    }
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const WorkItem& a, const WorkItem& b) { return a.tiles > b.tiles; });
  return items;
}

Balance balance_of(std::span<const WorkItem> items, int slots) {
  if (slots < 1) {
    throw std::invalid_argument(std::to_string(slots) + " slots; allowed: 1 and more");
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free_at(
      std::greater<>(), std::vector<std::uint64_t>(static_cast<std::size_t>(slots), 0));
  Balance balance;
  std::uint64_t all = 0;
  for (const WorkItem& item : items) {
    const std::uint64_t done = free_at.top() + static_cast<std::uint64_t>(item.tiles);
    free_at.pop();
    free_at.push(done);
    balance.makespan = std::max(balance.makespan, done);
    all += static_cast<std::uint64_t>(item.tiles);
  }
  balance.mean = static_cast<double>(all) / slots;
  return balance;
}

}  // namespace sparkbench
