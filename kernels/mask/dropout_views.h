// Where the dropout mask (kernels/problem/dropout.h) has a pair of a pattern that runs as strided
// passes (pattern/mask_passes.h). Each visible pair has its own offset in the random stream, and a
// kernel computes the offsets of its pairs as it does for any other sequences.
//
// In the pass over the sequence itself, a pair has the coordinates of a problem without passes:
//   row = q,   column = k,   sequence = entry * heads + head
// for head `head` of the batch's entry `entry`. Views, residues of one length of one stride
// (ResidueView), are numbered from 1, over all passes. A pair that view n shows has
//   row    = q / stride,   column = k / stride
//   sequence = 2^28 n + u entry + heads (q % stride - first residue of the view) + head
// where u is the least power of two that is not below heads * residues of the view. So the kernel
// counts the view's sequences from 0, and all else is bits above these (of_sequences()).
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/mask/pattern/zone.h"

namespace sparkbench {

struct DropoutPlace {
  std::uint32_t sequence, row, column;
};

/// Bits from this one on hold a view's number; the bits below count its sequences.
inline constexpr int kViewNumberBit = 28;

/// A zone of a view, in lines.
struct DropoutZone {
  int stride, first_residue, end_residue;
  Zone lines;
  std::uint32_t number;              // of the view, 2^28 times
  std::uint32_t sequences_of_entry;  // u

  SPARK_HD bool has_row(int q) const {
    const int residue = q % stride;
    return first_residue <= residue && residue < end_residue;
  }
  /// The lines of the keys that row q sees, if any. has_row(q) must hold.
  SPARK_HD Range keys_of(int q) const {
    const int line = q / stride;
    return lines.q0 <= line && line < lines.q1 ? lines.keys(line) : Range{0, 0};
  }
  SPARK_HD bool sees(int q, int k) const {
    return q % stride == k % stride && has_row(q) && lines.sees(q / stride, k / stride);
  }
  /// Sequence 0 of the view for a batch entry, as dropout counts.
  SPARK_HD std::uint32_t first_sequence(int entry) const {
    return number | sequences_of_entry * static_cast<std::uint32_t>(entry);
  }
  /// Dropout coordinates of a pair. sees(q, k) must hold.
  SPARK_HD DropoutPlace place(int entry, int heads, int head, int q, int k) const {
    return {first_sequence(entry) |
                static_cast<std::uint32_t>((q % stride - first_residue) * heads + head),
            static_cast<std::uint32_t>(q / stride), static_cast<std::uint32_t>(k / stride)};
  }
};

/// Most zones of all views of a pattern.
inline constexpr int kMostDropoutZones = 16;

/// All views of a pattern's passes; empty if the pattern has no passes. Small enough for a kernel
/// parameter. No two zones have a pair in common.
struct DropoutViews {
  int count = 0;
  int heads = 1;
  DropoutZone zone[kMostDropoutZones] = {};

  /// Dropout coordinates of a pair. A pair that no view sees has those of the sequence order.
  SPARK_HD DropoutPlace place(int entry, int head, int q, int k) const {
    for (int i = 0; i < count; ++i) {
      if (zone[i].sees(q, k)) return zone[i].place(entry, heads, head, q, k);
    }
    return {static_cast<std::uint32_t>(entry * heads + head), static_cast<std::uint32_t>(q),
            static_cast<std::uint32_t>(k)};
  }
};

}  // namespace sparkbench
