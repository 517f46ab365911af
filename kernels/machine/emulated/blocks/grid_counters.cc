#include "kernels/machine/emulated/blocks/grid_counters.h"

#include <cmath>
#include <iterator>
#include <map>

namespace sparkbench {
namespace {

/// The sampled blocks of one block(0): their sum, and for how many of the row 0..extent-1 of blocks
/// their mean stands.
struct Column {
  Counters sum;
  int blocks = 0;
  double weight = 0.0;
};

using Columns = std::map<int, Column>;

/// Each position of the row is shared between the sampled ones on its two sides, the nearer having
/// the larger part.
void weigh(Columns& columns, int extent) {
  for (int position = 0; position < extent; ++position) {
    const auto above = columns.lower_bound(position);
    if (above == columns.begin()) {
      above->second.weight += 1.0;
      continue;
    }
    const auto below = std::prev(above);
    if (above == columns.end()) {
      below->second.weight += 1.0;
      continue;
    }
    const double part =
        static_cast<double>(position - below->first) / (above->first - below->first);
    above->second.weight += part;
    below->second.weight += 1.0 - part;
  }
}

}  // namespace

Counters extrapolate_to_grid(std::span<const BlockCounters> sample,
                             const std::array<int, 3>& grid) {
  Columns columns;
  for (const BlockCounters& ran : sample) {
    Column& column = columns[ran.block[0]];
    column.sum += ran.counters;
    ++column.blocks;
  }
  weigh(columns, grid[0]);
  const double rows = static_cast<double>(grid[1]) * grid[2];
  Counters counters;
  for (const auto field : kCounterFields) {
    double sum = 0.0;
    for (const auto& [position, column] : columns) {
      sum += column.weight * static_cast<double>(column.sum.*field) / column.blocks;
    }
    counters.*field = static_cast<std::uint64_t>(std::llround(rows * sum));
  }
  return counters;
}

}  // namespace sparkbench
