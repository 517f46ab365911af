// A mask applied to a tile of scores in registers.
#pragma once

#include <cmath>

#include "kernels/base/planted_fault.h"
#include "kernels/mask/key_mask.h"
#include "kernels/tile/layout.h"

namespace sparkbench {

/// Calls hide(step, element) for each score whose row does not see its key: the rows of a fragment
/// from first_row on, kSteps steps of keys from first_key on. `mask` tells a row's keys as KeyMask
/// does. A row's keys become mask bits, in which a score's bit has the same position for every
/// lane.
template <class Layout, int kSteps, class Mask, class Hide>
SPARK_DEVICE void hide_scores(const Mask& mask, int lane, int first_row, int first_key, Hide hide) {
  constexpr int kWords = (kSteps * Layout::kStepKeys + 31) / 32;
#pragma unroll
  for (int strand = 0; strand < Layout::kStrands; ++strand) {
    const Range keys = mask.keys(first_row + Layout::row(lane, Layout::slot(strand)));
    const int first = first_key + 2 * Layout::pair(lane, strand);
    std::uint32_t seen[kWords];
#pragma unroll
    for (int word = 0; word < kWords; ++word)
      seen[word] = SPARK_PLANTED(kMaskWordPastEnd, range_word(keys, first + 32 * word),
                                 range_word({keys.begin, keys.end + 1}, first + 32 * word));
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int n = 0; n < Layout::kStrandElements; ++n) {
        const int bit = Layout::kStepKeys * step + Layout::key(n);
        if ((seen[bit / 32] & (1u << bit % 32)) == 0) hide(step, Layout::element(strand, n));
      }
    }
  }
}

/// Sets these scores to -inf.
template <class Layout, int kSteps>
SPARK_DEVICE void mask_scores(float (&score)[kSteps][Layout::kElements], const KeyMask& mask,
                              int lane, int first_row, int first_key) {
  hide_scores<Layout, kSteps>(mask, lane, first_row, first_key,
                              [&](int step, int i) { score[step][i] = -INFINITY; });
}

/// The same for scores in their accumulators.
template <class Layout, int kSteps>
SPARK_DEVICE void mask_scores(typename Layout::Fragment (&score)[kSteps], const KeyMask& mask,
                              int lane, int first_row, int first_key) {
  hide_scores<Layout, kSteps>(mask, lane, first_row, first_key,
                              [&](int step, int i) { Layout::hide(score[step], i); });
}

/// Calls hide(step, element) as hide_scores() does, for the keys for which is_hidden(key, bound)
/// holds. `bound` and `key` count from a lane's first key; bound_of(row) is a row's bound.
template <class Layout, int kSteps, class BoundOf, class IsHidden, class Hide>
SPARK_DEVICE void hide_by_bound(int lane, int first_row, int first_key, BoundOf bound_of,
                                IsHidden is_hidden, Hide hide) {
#pragma unroll
  for (int strand = 0; strand < Layout::kStrands; ++strand) {
    const int row = first_row + Layout::row(lane, Layout::slot(strand));
    const int first = first_key + 2 * Layout::pair(lane, strand);
    const int bound = bound_of(row) - first;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int n = 0; n < Layout::kStrandElements; ++n) {
        const int key = Layout::kStepKeys * step + Layout::key(n);
        if (is_hidden(key, bound)) hide(step, Layout::element(strand, n));
      }
    }
  }
}

/// Calls hide(group, step, element) for the keys before and after those that a row sees, by begin()
/// and end() of `mask`, as KeyMask has them, for kGroups fragments of rows from first_row(group)
/// on. All of these rows see the keys `seen`, so that nothing is compared on their side.
template <class Layout, int kSteps, int kGroups, class Mask, class FirstRow, class Hide>
SPARK_DEVICE void hide_outside(const Mask& mask, const Range& seen, int lane, FirstRow first_row,
                               int first_key, Hide hide) {
  if (first_key < seen.begin) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      hide_by_bound<Layout, kSteps>(
          lane, first_row(group), first_key, [&](int row) { return mask.begin(row); },
          [](int key, int begin) {
            return SPARK_PLANTED(kMaskBeforeBegin, key < begin, key + 1 < begin);
          },
          [&](int step, int i) { hide(group, step, i); });
    }
  }
  if (seen.end < first_key + kSteps * Layout::kStepKeys) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      hide_by_bound<Layout, kSteps>(
          lane, first_row(group), first_key, [&](int row) { return mask.end(row); },
          [](int key, int end) { return SPARK_PLANTED(kMaskPastEnd, key >= end, key > end); },
          [&](int step, int i) { hide(group, step, i); });
    }
  }
}

}  // namespace sparkbench
