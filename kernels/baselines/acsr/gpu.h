// The chain on the current GPU.
#pragma once

#include "kernels/baselines/acsr/params.h"

struct CUstream_st;

namespace sparkbench::acsr {

// The chain's kernels over device pointers. The problem's head_dim is one that some instance
// serves. Each throws CudaError.
void launch_scores(const Problem& problem, const ChainParams& params, CUstream_st* stream);
void launch_softmax(const Problem& problem, const ChainParams& params, CUstream_st* stream);
void launch_output(const Problem& problem, const ChainParams& params, CUstream_st* stream);
void launch_softmax_gradient(const Problem& problem, const ChainParams& params,
                             const Half* probabilities, CUstream_st* stream);
void launch_key_gradient(const Problem& problem, const ChainParams& params, CUstream_st* stream);

}  // namespace sparkbench::acsr
