// What the tests of the kernels share: the problems of a shape.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "kernels/attention.h"
#include "kernels/mask/test_masks.h"

namespace sparkbench {

/// Those that no kernel had from the start: of each tile, and below.
inline constexpr int kPaddedHeadDims[] = {8, 16, 24, 32, 40, 72, 80, 96, 104, 120};
/// Above 128 columns, where SMs of 64 KiB have no kernels.
inline constexpr int kWideHeadDims[] = {136, 256};

struct Lengths {
  int seqlen_q, seqlen_k;
};

/// Calls check(problem) for every kind of mask and every dropout: of two heads, of one key of
/// eight, since the largest errors of fewer elements are told apart by chance.
template <class Check>
void for_every_mask_and_dropout(int head_dim, Lengths lengths,
                                std::initializer_list<float> dropouts, Check check) {
  for (const MaskSpec& mask : kMaskOfEachKind) {
    for (const float dropout_p : dropouts) {
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
  }
}

}  // namespace sparkbench
