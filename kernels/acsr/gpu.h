// Launches the chain on the current GPU.
#pragma once

#include "kernels/acsr/params.h"

struct CUstream_st;

namespace sparkbench::acsr {

/// The kernels of a pass, one after the other, over device pointers. `rows` and `keys` are the
/// problem's. Throws CudaError.
void launch_forward(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                    CUstream_st* stream);
void launch_backward(const Problem& problem, const MaskRows& rows, const MaskKeys& keys,
                     const GradientParams& params, CUstream_st* stream);

}  // namespace sparkbench::acsr
