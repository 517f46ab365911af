#include "kernels/mask/key_mask.h"

#include <algorithm>

#include "kernels/mask/mask_table.h"

namespace sparkbench {
namespace {

/// sum of min(seqlen_k, max(least, row + offset)) over rows [0, rows).
std::uint64_t sum_of_clamped(std::int64_t rows, std::int64_t offset, std::int64_t least,
                             std::int64_t most) {
  const std::int64_t rising = std::clamp<std::int64_t>(least - offset, 0, rows);
  const std::int64_t flat = std::clamp<std::int64_t>(most - offset, rising, rows);
  const auto product = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
  };
  // least for the first rows, then rising + offset, ..., flat - 1 + offset, then most.
  const std::int64_t count = flat - rising;
  const std::uint64_t ramp =
      count == 0 ? 0 : product(count, (rising + offset) + (flat - 1 + offset)) / 2;
  return product(rising, least) + ramp + product(rows - flat, most);
}

}  // namespace

OpenMask open_mask(const MaskSpec& mask) {
  const MaskBounds bounds = row_of(mask.kind).bounds(mask.first, mask.second);
  const auto clamped = [](std::int64_t bound) {
    constexpr std::int64_t kFurthest = std::int64_t{1} << 30;
    return static_cast<int>(std::clamp(bound, -kFurthest, kFurthest));
  };
  return {clamped(bounds.begin), clamped(bounds.end), clamped(bounds.prefix)};
}

KeyMask make_key_mask(const MaskSpec& mask, int seqlen_q, int seqlen_k) {
  return key_mask_of(open_mask(mask), seqlen_q, seqlen_k);
}

std::uint64_t visible_pairs(const KeyMask& mask) {
  // A row that sees none has both ends at 0: no row of the problem begins past its end.
  const std::int64_t rows = mask.seqlen_q, keys = mask.seqlen_k;
  const std::uint64_t ends = sum_of_clamped(rows, mask.end_offset, mask.prefix, keys);
  const std::uint64_t begins = sum_of_clamped(rows, mask.begin_offset, 0, keys);
  return ends - begins;
}

std::uint64_t twice_credited_pairs(const MaskSpec& mask, int seqlen_q, int seqlen_k) {
  if (mask == MaskSpec::causal() && seqlen_q == seqlen_k) {
    return static_cast<std::uint64_t>(seqlen_q) * static_cast<std::uint64_t>(seqlen_k);
  }
  return 2 * visible_pairs(make_key_mask(mask, seqlen_q, seqlen_k));
}

}  // namespace sparkbench
