// What `sparkbench mask` says of a mask: pairs, tiles, memory, and the time that the analysis took.
#pragma once

#include <cstdint>
#include <optional>
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

/// What a warp of Volta's forward kernels leaves out of a pattern where it sees none of it: half of
/// a tile of 64 keys.
inline constexpr int kWarpRows = 32, kWarpKeys = 32;
/// Two blocks on each SM of a V100, which take items of at most so many tiles.
inline constexpr int kVoltaSlots = 160;

/// A pattern as passes, where one of these is in an order of its own (passes.h).
struct MaskPasses {
  std::vector<int> strides;
  std::uint64_t executed_pairs = 0, warp_executed_pairs = 0;
};

/// A pattern in the order of its grid's tokens, where kernels walk it so (ordered_pattern.h).
struct MaskOrder {
  std::vector<int> tile;  // tokens of each of the grid's axes
  int positions = 0;      // tokens, and those that two tiles share once more
  std::uint64_t spans = 0;
  int most_spans = 0;
  std::uint64_t full_tiles = 0, cut_tiles = 0;
  std::uint64_t executed_pairs = 0, warp_executed_pairs = 0;
  std::uint64_t metadata_bytes = 0;
};

/// Of the heads that have one union.
struct MaskFigures {
  std::string name;
  std::uint64_t visible_pairs = 0;
  double density = 0.0;
  std::uint64_t spans = 0;
  int most_spans = 0;  // of a tile of rows
  std::uint64_t full_tiles = 0, cut_tiles = 0;
  std::uint64_t executed_pairs = 0, warp_executed_pairs = 0;
  std::uint64_t metadata_bytes = 0;
  // From the mask's words to all spans that kernels walk: the least of `repetitions`.
  double analysis_us = 0.0;
  int repetitions = 0;
  MaskPasses passes;  // in the order of the sequence alone: strides are {1}
  std::optional<MaskOrder> order;

  /// Executed over visible pairs; NaN where nothing is visible.
  double ratio(std::uint64_t executed) const;
  bool has_other_orders() const { return passes.strides.size() > 1 || passes.strides[0] != 1; }
};

struct MaskAnswer {
  Pattern pattern;
  std::vector<MaskFigures> unions;
  // Of all heads, of which tiles are walked in the order of a grid if there is one: items of whole
  // tiles of rows, and as kernels split them.
  Balance whole, split;
  int longest_item = 0;  // of those, in tiles
  std::size_t items = 0;
};

/// Throws std::invalid_argument for lengths that the mask does not fit.
MaskAnswer answer(const MaskQuestion& question);

}  // namespace sparkbench
