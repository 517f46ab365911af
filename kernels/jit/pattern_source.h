// A pattern as a source that NVRTC compiles: its unions as a function of a pair, and the kernels
// that ask it for tiles (tile_kernels.cuh).
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

/// Nothing for a pattern without a predicate, whose zones tell tiles faster than any device, and
/// for grids, arrays and bits. The source knows no lengths.
std::optional<PatternSource> pattern_source(const Pattern& pattern);

/// What its kernels are asked of a union.
TileQuestion tile_question(const PatternSource& source, const Pattern& pattern, int of_union,
                           const SightedTiles& tiles);

/// What the source includes, as it stood where this was built.
const std::vector<JitHeader>& embedded_headers();

}  // namespace sparkbench
