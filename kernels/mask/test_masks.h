// Masks for tests, and which pairs they show: by their definitions in mask_spec.h, not by KeyMask.
#pragma once

#include <cstdint>

#include "kernels/mask/mask_spec.h"

namespace sparkbench {

inline constexpr MaskSpec kTestMasks[] = {
    MaskSpec::full(),     MaskSpec::causal(),   MaskSpec::window(1),  MaskSpec::window(3),
    MaskSpec::window(37), MaskSpec::band(2, 1), MaskSpec::band(0, 0), MaskSpec::band(20, 5),
    MaskSpec::prefix(2),  MaskSpec::prefix(40)};

/// One of each kind, for tests that take longer.
inline constexpr MaskSpec kMaskOfEachKind[] = {MaskSpec::full(), MaskSpec::causal(),
                                               MaskSpec::window(37), MaskSpec::band(20, 5),
                                               MaskSpec::prefix(9)};

inline bool sees_by_definition(const MaskSpec& mask, int seqlen_q, int seqlen_k, int row, int key) {
  const std::int64_t p = std::int64_t{row} + seqlen_k - seqlen_q;
  switch (mask.kind) {
    case MaskKind::kFull:
      return true;
    case MaskKind::kCausal:
      return key <= p;
    case MaskKind::kWindow:
      return key <= p && key > p - mask.first;
    case MaskKind::kBand:
      return key >= p - mask.first && key <= p + mask.second;
    case MaskKind::kPrefix:
      return key <= p || key < mask.first;
  }
  return false;
}

}  // namespace sparkbench
