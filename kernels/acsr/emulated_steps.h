// The chain's kernels on the emulated machine, by the instruction of its products.
#pragma once

#include <cstddef>

#include "kernels/acsr/params.h"
#include "kernels/acsr/softmax.h"
#include "kernels/acsr/softmax_gradient.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench::acsr {

struct EmulatedStep {
  const char* id = nullptr;  // of the instance
  int threads = 0;
  std::size_t shared_bytes = 0;
  EmulatedKernel kernel;
  int parts = 1;  // blocks of threads for each block of rows
};

/// Of a problem's rows, and a head_dim that some instance serves.
struct EmulatedSteps {
  using Make = EmulatedStep (*)(const Problem& problem, const MaskRows& rows,
                                const ChainParams& params);
  Make scores, softmax, output;
  EmulatedStep (*softmax_gradient)(const Problem& problem, const MaskRows& rows,
                                   const ChainParams& params, const Half* probabilities);
  Make key_gradient;
};

/// A product: visit_rows(visit) calls visit(Config{}, id) of the row that serves, and
/// compute(Config{}, machine) is its kernel.
template <template <class> class Tiles, class VisitRows, class Compute>
EmulatedStep product_step(const VisitRows& visit_rows, const Compute& compute) {
  EmulatedStep step;
  visit_rows([&](auto row, const char* id) {
    using Config = decltype(row);
    step = {id, Config::kThreads, sizeof(Tiles<Config>),
            [compute](EmulatedMachine& machine) { compute(Config{}, machine); }};
  });
  return step;
}

/// Softmax of a row of instances.
template <class Config>
EmulatedStep softmax_step(const char* id, const ChainParams& params) {
  return {id, Config::kThreads, 0,
          [params](EmulatedMachine& machine) { normalize_rows<Config>(machine, params); },
          Config::kBlocksOfRows};
}
template <class Config>
EmulatedStep softmax_gradient_step(const char* id, const ChainParams& params,
                                   const Half* probabilities) {
  return {id, Config::kThreads, 0,
          [params, probabilities](EmulatedMachine& machine) {
            differentiate_rows<Config>(machine, params, probabilities);
          },
          Config::kBlocksOfRows};
}

extern const EmulatedSteps kEmulatedM8n8k4, kEmulatedWgmma;

}  // namespace sparkbench::acsr
