// A call's offset of the dropout mask (kernels/problem/dropout.h): in device memory, so that each
// replay of a CUDA graph draws another mask, or in the parameters.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/problem/dropout.h"

namespace sparkbench {

/// The offset of ForwardParams or BackwardParams, by a load that all lanes share.
template <class Machine, class Params>
SPARK_DEVICE DropoutOffset dropout_offset(Machine& machine, const Params& params) {
  if (SPARK_PLANTED(kDropoutOffsetIgnored, params.dropout_offset == nullptr, true))
    return params.dropout.offset;
  return machine.template load_global<DropoutOffset>(params.dropout_offset);
}

/// The same, loaded by each call: the compiler keeps nothing from one call to the next.
template <class Machine, class Params>
SPARK_DEVICE DropoutOffset dropout_offset_anew(Machine& machine, const Params& params) {
  if (SPARK_PLANTED(kDropoutOffsetIgnored, params.dropout_offset == nullptr, true))
    return params.dropout.offset;
  return machine.template load_global<DropoutOffset>(machine.opaque(params.dropout_offset));
}

}  // namespace sparkbench
