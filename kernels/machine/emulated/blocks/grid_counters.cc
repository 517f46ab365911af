#include "kernels/machine/emulated/blocks/grid_counters.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace sparkbench {
namespace {

/// The sampled blocks of equal work: their sum, and for how many of the blocks along the grid's
/// first axis their mean stands.
struct Column {
  Counters sum;
  int blocks = 0;
  double weight = 0.0;
};

using Columns = std::map<double, Column>;  // by work

/// Divides a block of this work between the sampled ones of less and of more, the nearer getting
/// the larger part; outside the sample between the two nearest, the farther one getting a negative
/// part.
void share(double work, Columns& columns) {
  if (columns.size() == 1) {
    columns.begin()->second.weight += 1.0;
    return;
  }
  auto above = columns.lower_bound(work);
  if (above == columns.begin()) ++above;
  if (above == columns.end()) --above;
  const auto below = std::prev(above);
  const double part = std::clamp((work - below->first) / (above->first - below->first), -1.0, 2.0);
  above->second.weight += part;
  below->second.weight += 1.0 - part;
}

}  // namespace

Counters extrapolate_to_grid(std::span<const BlockCounters> sample, const std::array<int, 3>& grid,
                             std::span<const double> work) {
  const auto work_of = [&](int position) {
    return work.empty() ? position : work[static_cast<std::size_t>(position)];
  };
  Columns columns;
  for (const BlockCounters& ran : sample) {
    Column& column = columns[work_of(ran.block[0])];
    column.sum += ran.counters;
    ++column.blocks;
  }
  for (int position = 0; position < grid[0]; ++position) share(work_of(position), columns);
  const double rows = static_cast<double>(grid[1]) * grid[2];
  Counters counters;
  for (const auto field : kCounterFields) {
    double sum = 0.0;
    for (const auto& [_, column] : columns) {
      sum += column.weight * static_cast<double>(column.sum.*field) / column.blocks;
    }
    counters.*field = static_cast<std::uint64_t>(std::llround(std::max(0.0, rows * sum)));
  }
  return counters;
}

}  // namespace sparkbench
