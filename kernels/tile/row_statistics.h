// What the backward pass needs of each query row, staged in shared memory for a tile of queries.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/machine/machine.h"
#include "kernels/tile/fragment.h"
#include "kernels/tile/log2e.h"

namespace sparkbench {

/// Of one query, 8 bytes: P = exp2(scale_log2 * S + offset), dS = P * (dP - delta).
struct alignas(8) RowStatistics {
  float offset;  // -lse * log2(e); -inf, so that P = 0, for a row without keys or past the end
  float delta;   // rowsum(d_o * o)
};

/// Reads a row's statistics; `index` counts in [batch, heads, seqlen_q].
template <class Machine>
SPARK_DEVICE RowStatistics load_row_statistics(Machine& machine, const float* lse,
                                               const float* delta, std::size_t index,
                                               bool is_inside) {
  if (!is_inside) return {-INFINITY, 0.0f};
  const float row_lse = machine.template load_global<float>(lse + index);
  const float offset = row_lse == -INFINITY ? -INFINITY : -row_lse * kLog2E;
  return {offset, machine.template load_global<float>(delta + index)};
}

/// The statistics of a tile of kQueries consecutive queries.
template <int kQueries>
struct StatisticsTile {
  RowStatistics row[kQueries];

  template <class Machine>
  SPARK_DEVICE void store(Machine& machine, int query, const RowStatistics& statistics) {
    Bits64 bits;
    memcpy(&bits, &statistics, sizeof bits);
    machine.store_shared(&row[query], bits);
  }
  template <class Machine>
  SPARK_DEVICE RowStatistics load(Machine& machine, int query) {
    const Bits64 bits = machine.template load_shared<Bits64>(&row[query]);
    RowStatistics statistics;
    memcpy(&statistics, &bits, sizeof bits);
    return statistics;
  }
};

}  // namespace sparkbench
