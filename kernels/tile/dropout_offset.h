// A call's offset of the dropout mask (kernels/dropout.h) where kernels find it: in memory of the
// device, so that a CUDA graph draws another mask each time it is replayed, or in the parameters.
#pragma once

#include "kernels/dropout.h"

namespace sparkbench {

/// Of ForwardParams or BackwardParams. Read anew by each call, by a load that all lanes share: kept
/// in registers, it would cost the loops of kernels that have none left.
template <class Machine, class Params>
SPARK_DEVICE DropoutOffset dropout_offset(Machine& machine, const Params& params) {
  if (params.dropout_offset == nullptr) return params.dropout.offset;
  return machine.template load_global<DropoutOffset>(machine.opaque(params.dropout_offset));
}

}  // namespace sparkbench
