#include "reference/cudnn/supported_problems.h"

#include "reference/cudnn/diagonal_bounds.h"
#include "reference/cudnn/ragged_batch.h"

namespace sparkbench::cudnn {
namespace {

/// Older versions have left bounds only for some devices, lengths and masks. One later version
/// computes them wrong if a row sees more than 1024 keys past the diagonal (cudnn-frontend, same
/// node).
constexpr std::size_t kFirstVersionWithLeftBounds = 91002;
constexpr std::size_t kVersionWithWrongBands = 91400;
constexpr int kMostKeysOfWrongVersion = 1024;
/// Ragged batches need bounds aligned to the bottom right corners of sequences; without them no
/// varlen mask matches this project's definition (same node).
constexpr std::size_t kFirstVersionOfRaggedBatches = 91002;

std::optional<std::string> why_no_bounds(const DiagonalBounds& bounds, int longest_keys,
                                         std::size_t library_version) {
  if (!bounds.keys_before) return std::nullopt;
  if (library_version < kFirstVersionWithLeftBounds) {
    return "windows and bands before version 9.10.2";
  }
  if (library_version == kVersionWithWrongBands && bounds.keys_after > 0 &&
      longest_keys > kMostKeysOfWrongVersion) {
    return "bands of more than 1024 keys in version 9.14.0";
  }
  return std::nullopt;
}

std::optional<std::string> why_no_ragged_graph(const Problem& problem,
                                               std::size_t library_version) {
  if (library_version < kFirstVersionOfRaggedBatches) {
    return "packed sequences before version 9.10.2";
  }
  if (problem.mask.kind == MaskKind::kPrefix) return "the mask " + name_of(problem.mask);
  const RaggedBatch batch = ragged_batch(problem);
  const std::optional<DiagonalBounds> bounds = diagonal_bounds(problem.mask, batch);
  if (!bounds) return std::nullopt;
  if (auto why = why_no_bounds(*bounds, batch.longest_keys, library_version)) return why;
  if (batch.are_square() || problem.dropout().threshold == 0) return std::nullopt;
  return "dropout under a mask where a sequence has more keys than rows that see any";
}

}  // namespace

std::optional<std::string> why_no_graph(const Problem& problem, std::size_t library_version) {
  if (problem.head_dim % 8 != 0) {
    return "head_dim " + std::to_string(problem.head_dim) + " (multiples of 8 are supported)";
  }
  if (problem.lengths) return why_no_ragged_graph(problem, library_version);
  if (hides_nothing(problem.key_mask())) return std::nullopt;
  const std::optional<DiagonalBounds> bounds = diagonal_bounds(problem);
  if (!bounds) return "the mask " + name_of(problem.mask);
  if (auto why = why_no_bounds(*bounds, problem.seqlen_k, library_version)) return why;
  if (problem.seqlen_q > problem.seqlen_k) return "rows without a visible key";
  if (problem.seqlen_q == problem.seqlen_k || problem.dropout().threshold == 0) return std::nullopt;
  return "dropout under a mask of unequal lengths";
}

}  // namespace sparkbench::cudnn
