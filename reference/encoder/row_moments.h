// The sums that LayerNorm's gradient needs of a row, combined from those of its parts. Each part's
// sums are of differences from its own mean, so that no two large numbers are subtracted wherever
// the row's elements are (Chan, Golub and LeVeque, 1979).
#pragma once

#include "kernels/base/host_device.h"

namespace sparkbench {

/// Moments of z and of d, the gradient of normalized z.
struct alignas(16) RowMoments {
  float mean;     // of z
  float squares;  // sum of (z - mean)^2
  float d;        // sum of d
  float d_off;    // sum of d (z - mean)
};

/// The moments of a row of `columns` from those of its parts of `of_part` columns; the last may
/// have fewer.
SPARK_HD RowMoments joined(const RowMoments* parts, int of_part, int columns) {
  RowMoments row{0.0f, 0.0f, 0.0f, 0.0f};
  for (int first = 0, i = 0; first < columns; first += of_part, ++i) {
    const int count = columns - first < of_part ? columns - first : of_part;
    row.mean += static_cast<float>(count) * parts[i].mean;
  }
  row.mean /= static_cast<float>(columns);
  for (int first = 0, i = 0; first < columns; first += of_part, ++i) {
    const int count = columns - first < of_part ? columns - first : of_part;
    const RowMoments part = parts[i];
    const float off = part.mean - row.mean;
    row.squares += part.squares + static_cast<float>(count) * off * off;
    row.d += part.d;
    row.d_off += part.d_off + off * part.d;
  }
  return row;
}

}  // namespace sparkbench
