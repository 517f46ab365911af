#include "kernels/mask/pattern/work_items.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <stdexcept>
#include <string>

#include "kernels/base/ceil_divide.h"

namespace sparkbench {

int parts_of_row_tile(int tiles, double mean, int keys) {
  const int most = std::max(kColumnsOfPart / keys, static_cast<int>(std::ceil(mean)));
  return tiles <= most || tiles <= kTimesOfMean * mean ? 1 : ceil_divide(tiles, most);
}

std::vector<int> parts_of_row_tiles(std::span<const TilePlan> plans) {
  std::vector<int> parts(static_cast<std::size_t>(plans.front().row_tiles()), 1);
  double all = 0.0;
  for (const TilePlan& plan : plans) all += static_cast<double>(plan.tiles());
  const double mean = all / static_cast<double>(plans.size() * parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    int most = 0;
    for (const TilePlan& plan : plans) most = std::max(most, plan.tiles_of(static_cast<int>(i)));
    parts[i] = parts_of_row_tile(most, mean, plans.front().keys);
  }
  return parts;
}

std::vector<TileItem> work_items(std::span<const TilePlan> plans, int heads, bool splits) {
  const std::vector<int> parts_of = parts_of_row_tiles(plans);
  std::vector<TileItem> items;
  for (int head = 0; head < heads; ++head) {
    const TilePlan& plan = plans[static_cast<std::size_t>(head) % plans.size()];
    for (int row_tile = 0; row_tile < plan.row_tiles(); ++row_tile) {
      const int tiles = plan.tiles_of(row_tile);
      const int parts = splits ? parts_of[static_cast<std::size_t>(row_tile)] : 1;
      for (int part = 0, first = 0; part < parts; ++part) {
        const int next = static_cast<int>(std::int64_t{tiles} * (part + 1) / parts);
        if (next > first) items.push_back({head, row_tile, first, next - first, part, parts});
        first = next;
      }
    }
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const TileItem& a, const TileItem& b) { return a.tiles > b.tiles; });
  return items;
}

Balance balance_of(std::span<const TileItem> items, int slots) {
  if (slots < 1) {
    throw std::invalid_argument(std::to_string(slots) + " slots; allowed: 1 and more");
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free_at(
      std::greater<>(), std::vector<std::uint64_t>(static_cast<std::size_t>(slots), 0));
  Balance balance;
  std::uint64_t all = 0;
  for (const TileItem& item : items) {
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
