// Which instance serves a launch: the first of a table that does. Rows of the same work stand in
// the order of preference.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>

#include "kernels/launch/kernel_instance.h"

namespace sparkbench {

/// Products a tile: forward; dK, dV and sums of dQ; dK and dV only; dQ only.
inline constexpr int kForwardProducts = 2, kSummedProducts = 5, kKeyProducts = 4, kDqProducts = 3;

/// A row that asks a block for more shared memory than the device has is passed over. A dropout
/// threshold of 0 drops nothing and takes a row without dropout.
struct InstanceWish {
  std::string_view pass;  // "fwd", ...
  int products;
  Accumulator accumulator;
  const Problem& problem;
  std::size_t shared_bytes_per_block;
  BlockSource blocks = BlockSource::kDense;
};

inline bool serves(const KernelInstance& instance, const InstanceWish& wish) {
  const bool has_scores = instance.products > 0;
  // A kernel over rows reads no pattern: a block-sparse pass launches the dense instance.
  const bool uses_dense_rows = !has_scores && wish.blocks == BlockSource::kBlockSparse;
  return instance.pass() == wish.pass && instance.products == wish.products &&
         instance.accumulator == wish.accumulator && instance.element == wish.problem.element &&
         instance.serves(wish.problem.head_dim) &&
         instance.blocks == (uses_dense_rows ? BlockSource::kDense : wish.blocks) &&
         (!has_scores || instance.has_dropout == (wish.problem.dropout().threshold != 0)) &&
         static_cast<std::size_t>(instance.dynamic_shared_bytes) <= wish.shared_bytes_per_block;
}

/// No instance of a table serves.
struct NoInstance : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The same among the rows for which `also` holds. Null if none serves.
template <class Predicate>
const KernelInstance* find_instance(std::span<const KernelInstance> table, const InstanceWish& wish,
                                    Predicate also) {
  for (const KernelInstance& instance : table) {
    if (serves(instance, wish) && also(instance)) return &instance;
  }
  return nullptr;
}

}  // namespace sparkbench
