// Shared by the kernels' tests: the problems of a shape.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "kernels/mask/test_masks.h"
#include "kernels/problem/attention.h"
#include "kernels/testing/nightly.h"

namespace sparkbench {

struct Lengths {
  int seqlen_q, seqlen_k;
};

/// Calls check(problem): of two heads, of one key of eight, since the largest errors of fewer
/// elements are told apart by chance.
template <class Check>
void with_mask_and_dropout(int head_dim, Lengths lengths, const MaskSpec& mask, float dropout_p,
                           Check check) {
  SCOPED_TRACE(testing::Message() << "seqlen_k " << lengths.seqlen_k << ", " << name_of(mask)
                                  << ", dropout " << dropout_p);
  check(Problem{.batch = 1,
                .heads = lengths.seqlen_k == 1 ? 8 : 2,
                .seqlen_q = lengths.seqlen_q,
                .seqlen_k = lengths.seqlen_k,
                .head_dim = head_dim,
                .mask = mask,
                .dropout_p = dropout_p,
                .seed = 11});
}

/// Every kind of mask with every dropout.
template <class Check>
void for_every_mask_and_dropout(int head_dim, Lengths lengths,
                                std::initializer_list<float> dropouts, Check check) {
  for (const MaskSpec& mask : kMaskOfEachKind) {
    for (const float dropout_p : dropouts) {
      with_mask_and_dropout(head_dim, lengths, mask, dropout_p, check);
    }
  }
}

/// Lengths of keys around the sizes of tiles: every other one, the others at the next seqlen_q of
/// these. Nightly all.
inline std::vector<int> some_lengths(int seqlen_q) {
  constexpr int kLengths[] = {1, 63, 64, 65, 127, 500, 1024};
  const auto at = static_cast<std::size_t>(std::ranges::find(kLengths, seqlen_q) - kLengths);
  std::vector<int> lengths;
  for (std::size_t i = 0; i < std::size(kLengths); ++i) {
    if (is_tried(at + i, 2)) lengths.push_back(kLengths[i]);
  }
  return lengths;
}

/// Each mask with dropout or without it, the other way round at the next
/// head_dim or length. Nightly every mask both with and without dropout.
template <class Check>
void for_every_mask_and_some_dropout(int head_dim, Lengths lengths, Check check) {
  const std::vector<float> dropouts = with_nightly<float>({0.0f, 0.17f}, {0.5f});
  const auto shape = static_cast<std::size_t>(head_dim + lengths.seqlen_q) / 64;
  for (std::size_t m = 0; m < std::size(kMaskOfEachKind); ++m) {
    for (std::size_t d = 0; d < dropouts.size(); ++d) {
      if (!is_tried(shape + m + d, 2)) continue;
      with_mask_and_dropout(head_dim, lengths, kMaskOfEachKind[m], dropouts[d], check);
    }
  }
}

}  // namespace sparkbench
