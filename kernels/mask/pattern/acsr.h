// ACSR, SPLAT's affine rows (Gupta et al., arXiv 2407.16847): row r sees `count` keys: offset,
// offset + stride, ... The format takes 12 B per row; here it is only an import and export format.
#pragma once

#include <span>
#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Without keys all fields are 0; with one key `stride` is 1.
struct AcsrRow {
  int offset = 0, stride = 0, count = 0;

  bool operator==(const AcsrRow& other) const {
    return offset == other.offset && stride == other.stride && count == other.count;
  }
};

/// The rows of a head. Throws std::invalid_argument, naming the row, if a row's keys are not in
/// arithmetic progression; a union of progressions is not.
std::vector<AcsrRow> acsr_of(const Pattern& pattern, int head);

/// The pattern with these rows, alike for all heads, as the first of these forms that is exact:
///   a band; blocks, of a band of blocks; strides, of a band of classes    no memory
///   arrays, when strides are 1 and neither end ever falls                 8 B per row
///   bits                                                                  a bit per pair
/// Throws std::invalid_argument, naming the row, for a key outside of [0, seqlen_k), for a negative
/// count, and for a stride below 1 where there is more than one key.
Pattern pattern_of(std::span<const AcsrRow> rows, int seqlen_k);

}  // namespace sparkbench
