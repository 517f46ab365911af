// Launches the chain on the current GPU.
#pragma once

#include "kernels/acsr/params.h"

struct CUstream_st;

namespace sparkbench::acsr {

/// The three kernels, one after the other, over device pointers. `rows` are the problem's. Throws
/// CudaError.
void launch_forward(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                    CUstream_st* stream);

}  // namespace sparkbench::acsr
