// The dropout mask (kernels/dropout.h) applied to a tile of probabilities in registers.
#pragma once

#include <cmath>

#include "kernels/dropout.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {

/// Zeroes the dropped elements of 16 rows and the keys first_key.. (a multiple of 16 * kSteps) in a
/// 2 x 2 grid of quad-pairs: a call decides the quartets of one row and pair in all four steps of
/// 64 keys.
template <Accumulator kAccumulator, int kSteps>
SPARK_DEVICE void drop_probabilities(float (&p)[kSteps][8], const Dropout& dropout, int lane,
                                     std::uint32_t batch_head, int first_row, int first_key) {
  using Layout = GridLayout<kAccumulator>;
  static_assert(kSteps == 4 || kSteps == 2, "64 keys, or one half of them");
  const std::uint32_t threshold_on_top = dropout.threshold << 24;
  const bool is_second_half = kSteps == 2 && (first_key & 32) != 0;
#pragma unroll
  for (int quartet = 0; quartet < kQuartets; ++quartet) {
    const int row = first_row + Layout::row(lane, Layout::slot(quartet));
    const PhiloxBlock bytes =
        dropout_bytes(dropout, batch_head, static_cast<std::uint32_t>(row),
                      static_cast<std::uint32_t>(first_key >> 6),
                      static_cast<std::uint32_t>(Layout::pair(lane, quartet)));
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const std::uint32_t word =
          is_second_half ? bytes.word[(step + 2) & 3] : bytes.word[step];  // byte 2h + e of it
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // The byte on top: what lies below it never decides.
        const std::uint32_t byte_and_rest = word << (24 - 8 * i);
        if (byte_and_rest < threshold_on_top) {
          p[step][quartet_element(quartet, i >> 1, i & 1)] = 0.0f;
        }
      }
    }
  }
}

/// The random bytes of a lane's quartet of one row in two of the four steps of 64 keys.
struct QuartetDropout {
  std::uint32_t word[2];
};

/// Of the row `row` and the 32 keys from first_key on.
template <Accumulator kAccumulator>
SPARK_DEVICE QuartetDropout quartet_dropout(const Dropout& dropout, int lane,
                                            std::uint32_t batch_head, int row, int first_key,
                                            int quartet) {
  const PhiloxBlock bytes =
      dropout_bytes(dropout, batch_head, static_cast<std::uint32_t>(row),
                    static_cast<std::uint32_t>(first_key >> 6),
                    static_cast<std::uint32_t>(GridLayout<kAccumulator>::pair(lane, quartet)));
  const bool is_second_half = (first_key & 32) != 0;
  return {{is_second_half ? bytes.word[2] : bytes.word[0],
           is_second_half ? bytes.word[3] : bytes.word[1]}};
}

/// Zeroes P where it is dropped, and returns it with its sign turned there: none has a sign, so
/// that P itself remembers what was dropped. Element 2h + e of a quartet of step `step`.
SPARK_DEVICE float drop_and_mark(float& p, const Dropout& dropout, const QuartetDropout& quartet,
                                 int step, int element) {
  // The byte on top: what lies below it never decides.
  const std::uint32_t byte_and_rest = quartet.word[step] << (24 - 8 * element);
  float marked = p;
  if (byte_and_rest < dropout.threshold << 24) {
    marked = -p;
    p = 0.0f;
  }
  return marked;
}

/// Zeroes dP where P is marked, and takes the marks off P.
template <int kSteps>
SPARK_DEVICE void drop_marked(float (&p)[kSteps][8], float (&gradient)[kSteps][8]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (p[step][i] < 0.0f) gradient[step][i] = 0.0f;
      p[step][i] = fabsf(p[step][i]);
    }
  }
}

/// The random bytes of a lane's elements of 16 rows and 64 keys.
struct DropoutWords {
  PhiloxBlock quartet[kQuartets];
};

/// For the keys first_key.., a multiple of 64.
template <Accumulator kAccumulator>
SPARK_DEVICE DropoutWords dropout_words(const Dropout& dropout, int lane, std::uint32_t batch_head,
                                        int first_row, int first_key) {
  using Layout = GridLayout<kAccumulator>;
  DropoutWords words;
#pragma unroll
  for (int quartet = 0; quartet < kQuartets; ++quartet) {
    const int row = first_row + Layout::row(lane, Layout::slot(quartet));
    words.quartet[quartet] = dropout_bytes(dropout, batch_head, static_cast<std::uint32_t>(row),
                                           static_cast<std::uint32_t>(first_key >> 6),
                                           static_cast<std::uint32_t>(Layout::pair(lane, quartet)));
  }
  return words;
}

/// Zeroes the dropped elements of steps [first_step, end_step) of the 64 keys.
SPARK_DEVICE void drop_steps(float (&p)[4][8], const Dropout& dropout, const DropoutWords& words,
                             int first_step, int end_step) {
  const std::uint32_t threshold_on_top = dropout.threshold << 24;
#pragma unroll
  for (int quartet = 0; quartet < kQuartets; ++quartet) {
#pragma unroll
    for (int step = first_step; step < end_step; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // The byte on top: what lies below it never decides.
        const std::uint32_t byte_and_rest = words.quartet[quartet].word[step] << (24 - 8 * i);
        if (byte_and_rest < threshold_on_top) {
          p[step][quartet_element(quartet, i >> 1, i & 1)] = 0.0f;
        }
      }
    }
  }
}

}  // namespace sparkbench
