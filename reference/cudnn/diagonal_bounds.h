// Masks as cuDNN's graphs cut them: by how far from the diagonal a row still sees.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/attention.h"
#include "reference/cudnn/ragged_batch.h"

namespace sparkbench::cudnn {

/// A mask as cuDNN counts it, from the key at which a row stands.
struct DiagonalBounds {
  std::optional<std::int32_t> keys_before;  // that a row sees, its own included; nothing: all
  std::int32_t keys_after;                  // that it sees behind its own
};

/// Nothing where a mask is not bounded by diagonals, and where it hides no key. Bounds further away
/// than there are keys hide as much as the nearest of these.
std::optional<DiagonalBounds> diagonal_bounds(const Problem& problem);

/// The same of all sequences of a batch, where the mask has no prefix.
std::optional<DiagonalBounds> diagonal_bounds(const MaskSpec& spec, const RaggedBatch& batch);

/// Whether each row sees each key.
bool hides_nothing(const KeyMask& mask);

}  // namespace sparkbench::cudnn
