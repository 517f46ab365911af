// What is chosen for each forward kernel by the cycle model: tables by what it accumulates in, by
// the columns of its tiles, and by whether it has dropout.
#pragma once

#include "kernels/base/accumulator.h"

namespace sparkbench::volta {

/// What a forward kernel walks: sequences of one length, by long or by short blocks, packed ones,
/// or the tiles of a pattern's list.
enum class ForwardWalk { kLong, kShort, kPacked, kPattern };

/// Without dropout, and with it.
template <class Choice>
struct DropoutChoices {
  Choice plain, dropout;
};

/// Of a kernel, by the columns of its tiles.
template <class Choice>
struct ColumnChoices {
  DropoutChoices<Choice> d32, d64, d80, d96, d128, d256;

  constexpr const DropoutChoices<Choice>& of(int head_dim) const {
    return head_dim == 32    ? d32
           : head_dim == 64  ? d64
           : head_dim == 80  ? d80
           : head_dim == 96  ? d96
           : head_dim == 128 ? d128
                             : d256;
  }
};

/// FP32-ACC and FP16-ACC.
template <class Choice>
struct KernelChoices {
  ColumnChoices<Choice> fp32, fp16;

  constexpr Choice of(Accumulator accumulator, int head_dim, bool has_dropout) const {
    const ColumnChoices<Choice>& columns = accumulator == Accumulator::kFp32 ? fp32 : fp16;
    const DropoutChoices<Choice>& choices = columns.of(head_dim);
    return has_dropout ? choices.dropout : choices.plain;
  }
};

}  // namespace sparkbench::volta
