// The masks, one row each: the name, and which keys it shows. mask_spec.cc reads and writes names
// by these rows, key_mask.cc applies their bounds to known lengths.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/mask/mask_spec.h"

namespace sparkbench {

/// Farther than any key is from any row.
inline constexpr std::int64_t kEverywhere = std::int64_t{1} << 40;

/// A row at position p sees the keys from p + begin to below p + end. Every row also sees the keys
/// below `prefix`, which requires a begin that hides no key.
struct MaskBounds {
  std::int64_t begin = -kEverywhere, end = kEverywhere, prefix = 0;
};

struct MaskRow {
  MaskKind kind;
  std::string_view name;
  std::string_view form;  // as it is typed, and the least numbers
  int parameters;         // numbers after the name: at most two
  int least;              // that each may be
  MaskBounds (*bounds)(std::int64_t first, std::int64_t second);
};

std::span<const MaskRow> mask_rows();

/// Throws std::invalid_argument for a kind without a row.
const MaskRow& row_of(MaskKind kind);

}  // namespace sparkbench
