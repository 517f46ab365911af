// From a problem to the row of instances.h that serves it.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/attention.h"
#include "kernels/hopper/instances.h"
#include "kernels/sparse_lists.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::hopper {

/// Which lists of tiles a configuration for patterns takes.
template <class Config>
inline constexpr SparseListKind kSparseForward = {false, Config::kBlockM, Config::kBlockN};

/// Calls visit(Config{}, id) of the first row that serves, of those for patterns or of the others.
/// A dropout threshold of 0 drops nothing and takes the row without dropout. Throws
/// std::invalid_argument when there is none.
template <bool kIsSparse, class Visit>
void visit_forward(const Problem& problem, Visit&& visit) {
  const auto is_met_by = [&](auto config) {
    using Config = decltype(config);
    return problem.head_dim >= Config::kLeastHeadDim && problem.head_dim <= Config::kHeadDim &&
           problem.head_dim % kChunkHalves == 0 &&
           Config::kHasDropout == (problem.dropout().threshold != 0);
  };
#define SPARK_ROW(symbol, id, ...) \
  if (is_met_by(__VA_ARGS__{})) return visit(__VA_ARGS__{}, id);
  if constexpr (kIsSparse) {
    SPARK_HOPPER_SPARSE_FORWARD(SPARK_ROW)
  } else {
    SPARK_HOPPER_FORWARD(SPARK_ROW)
  }
#undef SPARK_ROW
  throw std::invalid_argument("no Hopper kernel is for head_dim " +
                              std::to_string(problem.head_dim));
}

}  // namespace sparkbench::hopper
