// A pattern as passes, each over the keys in an order of its own. Rows and keys of one residue lie
// `stride` apart. In the order of residues they lie side by side, and a strided or dilated pattern
// is made of dense blocks and bands. The order is an address, never a copy.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// What one pass computes. A pass of a stride above 1 has sequences of stride * lines() places, of
/// which place residue * lines() + line is token line * stride + residue. Places past the last
/// token see nothing and are seen by nothing. A key's place is the pass's own column: with the
/// pass's number it names a pair once, for whoever draws random numbers by it.
struct PatternPass {
  int stride = 1;
  int lines = 0;    // of a stride above 1
  Pattern pattern;  // of one union, over places; its terms have no pair in common

  int token_of(int place) const {
    return stride == 1 ? place : place % lines * stride + place / lines;
  }
  int place_of(int token) const {
    return stride == 1 ? token : token % stride * lines + token / stride;
  }
};

/// The passes of a head, numbered from 0, which together show each visible pair once: one in the
/// order of the sequence, and one for each stride whose terms ask for equal residues. Only where
/// seqlen_q is seqlen_k is there any but the first. A pattern that shows nothing has none. Throws
/// as disjoint() does.
std::vector<PatternPass> passes_of(const Pattern& pattern, int head);

}  // namespace sparkbench
