// For tests: atoms of the language of masks, and which pairs each shows by definition.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/row_bounds.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/mask/test_masks.h"

namespace sparkbench {

/// Column and line of a position on a grid of lines of `extent`; positions may be negative.
inline int column_of(int place, int extent) { return (place % extent + extent) % extent; }
inline int line_of(int place, int extent) { return (place - column_of(place, extent)) / extent; }

/// The document that a position is in, -1 if in none.
inline int document_of(const std::vector<int>& lengths, int place) {
  if (place < 0) return -1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (place < lengths[i]) return static_cast<int>(i);
    place -= lengths[i];
  }
  return -1;
}

/// Whether a window of `keys` keys around q, shifted to the inside, contains k.
inline bool is_in_neighbourhood(int q, int k, int extent, int keys) {
  int begin = q - keys / 2;
  if (begin + keys > extent) begin = extent - keys;
  if (begin < 0) begin = 0;
  return k >= begin && k < begin + keys;
}

struct DrawnAtom {
  std::string text;
  Predicate sees;
};

/// One of each kind except zones:FILE, with "causal-" or without.
DrawnAtom drawn_atom(Random& random, int seqlen_q, int seqlen_k);

}  // namespace sparkbench
