// The chain's kernels on the emulated machine, one launch each.
#pragma once

#include <cstddef>

#include "kernels/baselines/acsr/params.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench::acsr {

struct EmulatedStep {
  const char* id = nullptr;  // of the instance
  int threads = 0;
  std::size_t shared_bytes = 0;
  EmulatedKernel kernel;
  int parts = 1;  // blocks of threads for each block of rows
};

/// The problem's head_dim is one that some instance serves. `params` are copied.
EmulatedStep scores_step(const Problem& problem, const ChainParams& params);
EmulatedStep softmax_step(const ChainParams& params);
EmulatedStep output_step(const Problem& problem, const ChainParams& params);
EmulatedStep softmax_gradient_step(const ChainParams& params, const Half* probabilities);
EmulatedStep key_gradient_step(const Problem& problem, const ChainParams& params);

}  // namespace sparkbench::acsr
