#include "kernels/machine/emulated/blocks/grid_counters.h"

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

/// A block of this work is shared between the sampled ones of less and of more, the nearer having
/// the larger part.
void share(double work, Columns& columns) {
  const auto above = columns.lower_bound(work);
  if (above == columns.begin()) {
    above->second.weight += 1.0;
    return;
  }
  const auto below = std::prev(above);
  if (above == columns.end()) {
    below->second.weight += 1.0;
    return;
  }
  const double part = (work - below->first) / (above->first - below->first);
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
    counters.*field = static_cast<std::uint64_t>(std::llround(rows * sum));
  }
  return counters;
}

}  // namespace sparkbench
