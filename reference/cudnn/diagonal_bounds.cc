#include "reference/cudnn/diagonal_bounds.h"

#include <algorithm>

namespace sparkbench::cudnn {

bool hides_nothing(const KeyMask& mask) {
  return mask.all_see({0, mask.seqlen_q}, {0, mask.seqlen_k});
}

std::optional<DiagonalBounds> diagonal_bounds(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  if (hides_nothing(mask) || mask.prefix > 0) return std::nullopt;
  const int to_p = problem.seqlen_k - problem.seqlen_q;
  DiagonalBounds bounds{std::nullopt, std::min(mask.end_offset - to_p - 1, problem.seqlen_k)};
  const bool hides_on_the_left = mask.keys(problem.seqlen_q - 1).begin > 0;
  if (hides_on_the_left) bounds.keys_before = to_p - mask.begin_offset + 1;
  return bounds;
}

std::optional<DiagonalBounds> diagonal_bounds(const MaskSpec& spec, const RaggedBatch& batch) {
  bool hides_on_the_right = false, hides_on_the_left = false;
  for (const RaggedSequence& one : batch.sequences) {
    const KeyMask mask = make_key_mask(spec, one.rows, one.keys);
    hides_on_the_right |= mask.keys(0).end < one.keys;
    hides_on_the_left |= mask.keys(one.rows - 1).begin > 0;
  }
  if (!hides_on_the_right && !hides_on_the_left) return std::nullopt;
  const OpenMask mask = open_mask(spec);
  DiagonalBounds bounds{std::nullopt,
                        std::min(mask.end - 1, batch.longest_rows + batch.longest_keys)};
  if (hides_on_the_left) bounds.keys_before = 1 - mask.begin;
  return bounds;
}

}  // namespace sparkbench::cudnn
