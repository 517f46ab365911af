// ACSR, SPLAT's affine rows (Gupta et al., arXiv 2407.16847): row r sees `count` keys: offset,
// offset + stride, ... The format takes 12 B per row; here SPLAT's chain alone reads it.
#pragma once

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

}  // namespace sparkbench
