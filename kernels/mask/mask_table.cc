#include "kernels/mask/mask_table.h"

#include <stdexcept>

namespace sparkbench {
namespace {

using Number = std::int64_t;

constexpr MaskRow kRows[] = {
    {.kind = MaskKind::kFull,
     .name = "full",
     .form = "full",
     .parameters = 0,
     .least = 0,
     .bounds = [](Number, Number) { return MaskBounds{.prefix = kEverywhere}; }},
    {.kind = MaskKind::kCausal,
     .name = "causal",
     .form = "causal",
     .parameters = 0,
     .least = 0,
     .bounds = [](Number, Number) { return MaskBounds{.end = 1}; }},
    {.kind = MaskKind::kWindow,
     .name = "window",
     .form = "window:W (W >= 1)",
     .parameters = 1,
     .least = 1,
     .bounds = [](Number w, Number) { return MaskBounds{.begin = 1 - w, .end = 1}; }},
    {.kind = MaskKind::kBand,
     .name = "band",
     .form = "band:L:R (L, R >= 0)",
     .parameters = 2,
     .least = 0,
     .bounds = [](Number l, Number r) { return MaskBounds{.begin = -l, .end = r + 1}; }},
    {.kind = MaskKind::kPrefix,
     .name = "prefix",
     .form = "prefix:P (P >= 0)",
     .parameters = 1,
     .least = 0,
     .bounds = [](Number p, Number) { return MaskBounds{.end = 1, .prefix = p}; }},
};

}  // namespace

std::span<const MaskRow> mask_rows() { return kRows; }

const MaskRow& row_of(MaskKind kind) {
  for (const MaskRow& row : kRows) {
    if (row.kind == kind) return row;
  }
  throw std::invalid_argument("a mask of no known kind");
}

}  // namespace sparkbench
