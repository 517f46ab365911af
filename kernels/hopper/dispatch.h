// From a problem to the row of instances.h that serves it.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/hopper/instances.h"
#include "kernels/mask/pattern/grid.h"
#include "kernels/problem/attention.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/varlen/work_lists.h"

namespace sparkbench::hopper {

/// The kind of tile lists that a configuration for patterns uses: a forward or dQ one, and a dK/dV
/// one.
template <class Config>
inline constexpr SparseListKind kSparseQueries = {false, Config::kBlockM, Config::kBlockN};
template <class Config>
inline constexpr SparseListKind kSparseKeys = {true, Config::kBlockKeys, Config::kStep};

/// The same for varlen.
template <class Config>
inline constexpr WorkListKind kPackedQueries = {false, Config::kBlockM};
template <class Config>
inline constexpr WorkListKind kPackedKeys = {true, Config::kBlockKeys};

/// What a problem needs of a row. A dropout threshold of 0 drops nothing and takes the row without
/// dropout.
template <class Config>
bool serves(const Problem& problem) {
  return problem.head_dim >= Config::kLeastHeadDim && problem.head_dim <= Config::kHeadDim &&
         problem.head_dim % kChunkHalves == 0 &&
         Config::kHasDropout == (problem.dropout().threshold != 0);
}
[[noreturn]] inline void refuse(const Problem& problem) {
  throw std::invalid_argument("no Hopper kernel is for head_dim " +
                              std::to_string(problem.head_dim));
}

/// Like those below, calls visit(Config{}, id) for the first row with such blocks that serves.
/// Throws std::invalid_argument if there is none.
#define SPARK_ROW(symbol, id, ...) \
  if (serves<__VA_ARGS__>(problem)) return visit(__VA_ARGS__{}, id);
template <Blocks kBlocks, class Visit>
void visit_forward(const Problem& problem, Visit&& visit) {
  if constexpr (kBlocks == Blocks::kRuns) {
    SPARK_HOPPER_RUNS_FORWARD(SPARK_ROW)
  } else if constexpr (kBlocks == Blocks::kSparse) {
    SPARK_HOPPER_SPARSE_FORWARD(SPARK_ROW)
  } else if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_HOPPER_PACKED_FORWARD(SPARK_ROW)
  } else {
    SPARK_HOPPER_FORWARD(SPARK_ROW)
  }
  refuse(problem);
}

template <Blocks kBlocks, class Visit>
void visit_backward_dq(const Problem& problem, Visit&& visit) {
  if constexpr (kBlocks == Blocks::kSparse) {
    SPARK_HOPPER_SPARSE_BACKWARD_DQ(SPARK_ROW)
  } else if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_HOPPER_PACKED_BACKWARD_DQ(SPARK_ROW)
  } else {
    SPARK_HOPPER_BACKWARD_DQ(SPARK_ROW)
  }
  refuse(problem);
}

/// The dK/dV kernel with sums of dQ. Returns whether a row serves.
template <Blocks kBlocks, class Visit>
bool visit_backward_sums(const Problem& problem, Visit&& visit) {
#define SPARK_SUMS_ROW(symbol, id, ...) \
  if (serves<__VA_ARGS__>(problem)) {   \
    visit(__VA_ARGS__{}, id);           \
    return true;                        \
  }
  if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_HOPPER_PACKED_BACKWARD_SUMS(SPARK_SUMS_ROW)
  } else {
    static_assert(kBlocks == Blocks::kDense, "no pattern has them");
    SPARK_HOPPER_BACKWARD_SUMS(SPARK_SUMS_ROW)
  }
#undef SPARK_SUMS_ROW
  return false;
}

/// Most tiles of 64 keys, from a multiple of 64 on, that 64 queries of a band see. For other masks,
/// more tiles than there are.
inline int tiles_of_band(const KeyMask& mask) {
  if (mask.prefix > 0) return std::numeric_limits<int>::max();
  const int last_query = kWarpgroupRows - 1;
  return floor_divide(last_query + mask.end_offset - 1, kWarpgroupRows) -
         floor_divide(mask.begin_offset, kWarpgroupRows) + 1;
}
inline int tiles_of_keys(const KeyMask& mask) { return ceil_divide(mask.seqlen_k, kWarpgroupRows); }

/// Whether there are as many rows as keys, and each step of 64 queries sees the tile of its own 64
/// keys. (In a residue under a window, rows may see only keys before their own.)
inline bool steps_see_their_own(const KeyMask& mask) {
  if (mask.seqlen_q != mask.seqlen_k || mask.seqlen_q == 0) return false;
  const int last = (mask.seqlen_q - 1) % kWarpgroupRows;  // query of the last step
  const bool sees_before = mask.begin_offset <= 0;
  return sees_before && (last + mask.end_offset >= 1 || mask.prefix >= mask.seqlen_k);
}

/// The fused kernel of dK, dV and dQ. Returns whether a row serves: for windows and bands of few
/// keys, or few keys in all, if steps_see_their_own() and no heads share keys.
template <class Visit>
bool visit_backward_carried(const Problem& problem, Visit&& visit) {
  const KeyMask mask = problem.key_mask();
  if (problem.heads != problem.key_heads() || !steps_see_their_own(mask)) return false;
  const int of_band = tiles_of_band(mask), all = tiles_of_keys(mask);
#define SPARK_CARRIED_ROW(symbol, id, ...)                                       \
  if (serves<__VA_ARGS__>(problem) &&                                            \
      (of_band <= __VA_ARGS__::kMostVisits || all <= __VA_ARGS__::kMostTiles)) { \
    visit(__VA_ARGS__{}, id);                                                    \
    return true;                                                                 \
  }
  SPARK_HOPPER_BACKWARD_CARRIED(SPARK_CARRIED_ROW)
#undef SPARK_CARRIED_ROW
  return false;
}

/// The dK/dV kernel.
template <Blocks kBlocks, class Visit>
void visit_backward(const Problem& problem, Visit&& visit) {
  if constexpr (kBlocks == Blocks::kSparse) {
    SPARK_HOPPER_SPARSE_BACKWARD(SPARK_ROW)
  } else if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_HOPPER_PACKED_BACKWARD(SPARK_ROW)
  } else {
    SPARK_HOPPER_BACKWARD(SPARK_ROW)
  }
  refuse(problem);
}
#undef SPARK_ROW

}  // namespace sparkbench::hopper
