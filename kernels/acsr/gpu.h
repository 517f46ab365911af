// The chain on the current GPU.
#pragma once

#include "kernels/acsr/params.h"

struct CUstream_st;

namespace sparkbench::acsr {

/// The chain's kernels, by the instruction of its products, over device pointers. Each is of a
/// head_dim that some instance serves, and throws CudaError.
struct GpuSteps {
  using Launch = void (*)(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                          CUstream_st* stream);
  Launch scores, softmax, output;
  void (*softmax_gradient)(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                           const Half* probabilities, CUstream_st* stream);
  Launch key_gradient;
};

extern const GpuSteps kGpuM8n8k4, kGpuWgmma;

}  // namespace sparkbench::acsr
