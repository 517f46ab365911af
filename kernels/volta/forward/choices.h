// Choices for each forward kernel by the cycle model: tables by accumulator, tile columns and
// dropout.
#pragma once

#include "kernels/base/accumulator.h"

namespace sparkbench::volta {

/// Which key tiles a forward kernel visits: of equally long sequences, by long or by short blocks;
/// of varlen ones; or of a pattern's tile list.
enum class ForwardWalk { kLong, kShort, kPacked, kPattern };

/// Without dropout, and with it.
template <class Choice>
struct DropoutChoices {
  Choice plain, dropout;
};

/// A choice for each kernel, by the columns of its tiles.
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
