// Masks in cuDNN's form: bounds on the distance from the diagonal.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/problem/attention.h"
#include "reference/cudnn/ragged_batch.h"

namespace sparkbench::cudnn {

/// A mask in cuDNN's form. Counts from the row's own key.
struct DiagonalBounds {
  std::optional<std::int32_t> keys_before;  // keys that a row sees, its own included; empty: all
  std::int32_t keys_after;                  // keys that it sees after its own
};

/// Empty if the mask is not bounded by diagonals or hides no key. A bound past the end of the keys
/// is replaced by the nearest bound that hides as much.
std::optional<DiagonalBounds> diagonal_bounds(const Problem& problem);

/// The same for all sequences of a batch. The mask must not have a prefix.
std::optional<DiagonalBounds> diagonal_bounds(const MaskSpec& spec, const RaggedBatch& batch);

/// Whether each row sees each key.
bool hides_nothing(const KeyMask& mask);

}  // namespace sparkbench::cudnn
