// The figures of `sparkbench mask`: pairs, tiles, memory, and the time of the analysis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/work_items.h"

namespace sparkbench {

struct MaskQuestion {
  PatternSpec spec;
  int seqlen_q = 0, seqlen_k = 0;
  int heads = 1;
  int tile_rows = 64, tile_keys = 64;
};

/// A warp of Volta's forward kernels skips such a half of a 64-key tile if it sees nothing in it.
inline constexpr int kWarpRows = 32, kWarpKeys = 32;
/// Two blocks on each SM of a V100, with work items of at most that many tiles.
inline constexpr int kVoltaSlots = 160;

/// A pattern as strided views, if one of these has its own order (passes.h).
struct MaskPasses {
  std::vector<int> strides;
  std::uint64_t executed_pairs = 0, warp_executed_pairs = 0;
};

/// For the heads with one pattern.
struct MaskFigures {
  std::string name;
  std::uint64_t visible_pairs = 0;
  double density = 0.0;
  std::uint64_t spans = 0;
  int most_spans = 0;  // in one row tile
  std::uint64_t full_tiles = 0, cut_tiles = 0;
  std::uint64_t executed_pairs = 0, warp_executed_pairs = 0;
  std::uint64_t metadata_bytes = 0;
  // Time from the parsed mask to its tile plan: the minimum over `repetitions`.
  double analysis_us = 0.0;
  int repetitions = 0;
  MaskPasses passes;  // with only the sequence's order, strides are {1}

  /// Executed over visible pairs; NaN if nothing is visible.
  double ratio(std::uint64_t executed) const;
  bool has_other_orders() const { return passes.strides.size() > 1 || passes.strides[0] != 1; }
};

struct MaskAnswer {
  Pattern pattern;
  std::vector<MaskFigures> unions;
  // Over all heads. Items of whole row tiles, and as kernels split them.
  Balance whole, split;
  int longest_item = 0;  // of the split items, in tiles
  std::size_t items = 0;
};

/// Throws std::invalid_argument for lengths that the mask does not fit.
MaskAnswer answer(const MaskQuestion& question);

}  // namespace sparkbench
