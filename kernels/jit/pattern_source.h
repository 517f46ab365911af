// A pattern as a source for NVRTC: its unions as a function of a pair, and the kernels that
// evaluate whole tiles with it (tile_kernels.cuh).
#pragma once

#include <optional>
#include <vector>

#include "kernels/jit/nvrtc.h"
#include "kernels/jit/tile_sights.h"
#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

struct PatternSource {
  JitSource source;
  std::vector<int> texts;  // which one each union has
  std::vector<int> heads;  // what `h` is in each
};

/// Nothing for a pattern without a predicate (its zones tell tiles faster than any device), and for
/// grids, arrays and bits. The source does not depend on lengths.
std::optional<PatternSource> pattern_source(const Pattern& pattern);

/// The launch parameters of its kernels for a union.
TileQuestion tile_question(const PatternSource& source, const Pattern& pattern, int of_union,
                           const SightedTiles& tiles);

/// The headers that the source includes, as of this build.
const std::vector<JitHeader>& embedded_headers();

}  // namespace sparkbench
