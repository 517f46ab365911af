// The dropout mask (kernels/dropout.h) applied to probabilities in registers.
#pragma once

#include <cmath>

#include "kernels/dropout.h"
#include "kernels/tile/layout.h"

namespace sparkbench {

/// The random bytes of a strand's elements: of 64 keys, or of one half of them.
template <int kKeys>
struct StrandDropout {
  static_assert(kKeys == 64 || kKeys == 32, "a call decides 64 keys of a strand");

  std::uint32_t word[kKeys / 16];

  /// Of a row and the kKeys keys from first_key on, a multiple of kKeys.
  template <class Layout>
  SPARK_DEVICE static StrandDropout draw(const Dropout& dropout, int lane, std::uint32_t batch_head,
                                         int row, int first_key, int strand) {
    const PhiloxBlock bytes = dropout_bytes(dropout, batch_head, static_cast<std::uint32_t>(row),
                                            static_cast<std::uint32_t>(first_key >> 6),
                                            static_cast<std::uint32_t>(Layout::pair(lane, strand)));
    if constexpr (kKeys == 64) {
      return {{bytes.word[0], bytes.word[1], bytes.word[2], bytes.word[3]}};
    } else {
      const bool is_second_half = (first_key & 32) != 0;
      return {{is_second_half ? bytes.word[2] : bytes.word[0],
               is_second_half ? bytes.word[3] : bytes.word[1]}};
    }
  }

  /// Whether element n of the strand is dropped in step `step`.
  template <class Layout>
  SPARK_DEVICE bool drops(const Dropout& dropout, int step, int n) const {
    const int column = Layout::kStepKeys * step + Layout::key(n);
    const int byte = 2 * (column >> 3) + (column & 1);
    // The byte on top: what lies below it never decides.
    const std::uint32_t byte_and_rest = word[byte >> 2] << (24 - 8 * (byte & 3));
    return byte_and_rest < dropout.threshold << 24;
  }
};

/// The random bytes of a lane's elements of a fragment's rows and kKeys keys.
template <class Layout, int kKeys>
struct TileDropout {
  StrandDropout<kKeys> strand[Layout::kStrands];

  /// Of the rows from first_row on.
  SPARK_DEVICE void draw(const Dropout& dropout, int lane, std::uint32_t batch_head, int first_row,
                         int first_key) {
#pragma unroll
    for (int s = 0; s < Layout::kStrands; ++s) {
      const int row = first_row + Layout::row(lane, Layout::slot(s));
      strand[s] =
          StrandDropout<kKeys>::template draw<Layout>(dropout, lane, batch_head, row, first_key, s);
    }
  }

  /// Zeroes the dropped elements of steps [first_step, end_step).
  template <int kSteps>
  SPARK_DEVICE void apply(const Dropout& dropout, int first_step, int end_step,
                          float (&p)[kSteps][Layout::kElements]) const {
    static_assert(kSteps * Layout::kStepKeys == kKeys, "the steps are those that were drawn");
#pragma unroll
    for (int s = 0; s < Layout::kStrands; ++s) {
#pragma unroll
      for (int step = first_step; step < end_step; ++step) {
#pragma unroll
        for (int n = 0; n < Layout::kStrandElements; ++n) {
          if (strand[s].template drops<Layout>(dropout, step, n)) {
            p[step][Layout::element(s, n)] = 0.0f;
          }
        }
      }
    }
  }
};

/// Zeroes P where it is dropped, and returns it negative there: P >= 0, so its sign bit marks
/// dropped elements until dP needs to know them. Element n of a strand.
template <class Layout, int kKeys>
SPARK_DEVICE float drop_and_mark(float& p, const Dropout& dropout,
                                 const StrandDropout<kKeys>& strand, int step, int n) {
  float marked = p;
  if (strand.template drops<Layout>(dropout, step, n)) {
    marked = -p;
    p = 0.0f;
  }
  return marked;
}

/// Zeroes dP where P is marked, and takes the marks off P.
template <int kSteps, int kElements>
SPARK_DEVICE void drop_marked(float (&p)[kSteps][kElements], float (&gradient)[kSteps][kElements]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      if (p[step][i] < 0.0f) gradient[step][i] = 0.0f;
      p[step][i] = fabsf(p[step][i]);
    }
  }
}

}  // namespace sparkbench
