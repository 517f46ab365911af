// A pattern as passes, each over the keys in an order of its own. Rows and keys of one residue are
// `stride` apart; in the order of residues they are adjacent, and a strided or dilated pattern
// consists of dense blocks and bands. Tensors are read in that order by their strides, never
// copied.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// What one pass computes. A pass with a stride above 1 permutes the tokens, so that those with the
/// same residue are contiguous, in sequences of stride * lines positions: token line * stride +
/// residue is at position residue * lines + line. Positions past the last token see nothing and
/// nothing sees them. A pair's positions and the pass's number identify it, for random numbers.
struct PatternPass {
  int stride = 1;
  int lines = 0;    // for a stride above 1
  Pattern pattern;  // the same for all heads, over positions; no two terms share a pair

  int token_of(int place) const {
    return stride == 1 ? place : place % lines * stride + place / lines;
  }
  int place_of(int token) const {
    return stride == 1 ? token : token % stride * lines + token / stride;
  }
};

/// The passes of a head, numbered from 0, which together show each visible pair once: one in
/// sequence order, and, only if seqlen_q equals seqlen_k, one for each stride whose terms need
/// equal residues. A pattern that shows nothing has none. Throws as disjoint() does.
std::vector<PatternPass> passes_of(const Pattern& pattern, int head);

}  // namespace sparkbench
