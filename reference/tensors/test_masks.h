// Masks for tests of the references, and which pairs they show, by their words in mask_spec.h and
// not by KeyMask.
#pragma once

#include "kernels/attention.h"

namespace sparkbench {

inline constexpr MaskSpec kTestMasks[] = {
    MaskSpec::full(),     MaskSpec::causal(),   MaskSpec::window(1),  MaskSpec::window(3),
    MaskSpec::window(37), MaskSpec::band(2, 1), MaskSpec::band(0, 0), MaskSpec::band(20, 5),
    MaskSpec::prefix(2),  MaskSpec::prefix(40)};

inline bool sees_by_definition(const Problem& problem, int row, int key) {
  const int p = row + problem.seqlen_k - problem.seqlen_q;
  const MaskSpec& mask = problem.mask;
  switch (mask.kind) {
    case MaskKind::kFull:
      return true;
    case MaskKind::kCausal:
      return key <= p;
    case MaskKind::kWindow:
      return key <= p && p - key < mask.first;
    case MaskKind::kBand:
      return key >= p - mask.first && key <= p + mask.second;
    case MaskKind::kPrefix:
      return key <= p || key < mask.first;
  }
  return false;
}

}  // namespace sparkbench
