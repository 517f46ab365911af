#include "kernels/baselines/acsr/emulated_steps.h"

#include "kernels/baselines/acsr/softmax.h"
#include "kernels/baselines/acsr/softmax_gradient.h"
#include "kernels/baselines/acsr/volta/instances.h"
#include "kernels/baselines/acsr/volta/key_gradient.h"
#include "kernels/baselines/acsr/volta/output.h"
#include "kernels/baselines/acsr/volta/scores.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench::acsr {
namespace {

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

}  // namespace

EmulatedStep scores_step(const Problem& problem, const ChainParams& params) {
  return product_step<ScoresTiles>([&](auto visit) { visit_scores(problem.head_dim, visit); },
                                   [params](auto row, EmulatedMachine& machine) {
                                     compute_scores<decltype(row)>(machine, params);
                                   });
}

EmulatedStep softmax_step(const ChainParams& params) {
  using Config = SoftmaxConfig;
  return {"acsr-unfused/softmax", Config::kThreads, 0,
          [params](EmulatedMachine& machine) { normalize_rows<Config>(machine, params); },
          Config::kBlocksOfRows};
}

EmulatedStep output_step(const Problem& problem, const ChainParams& params) {
  return product_step<OutputTiles>([&](auto visit) { visit_output(problem.head_dim, visit); },
                                   [params](auto row, EmulatedMachine& machine) {
                                     compute_output<decltype(row)>(machine, params);
                                   });
}

EmulatedStep softmax_gradient_step(const ChainParams& params, const Half* probabilities) {
  using Config = SoftmaxGradientConfig;
  return {"acsr-unfused/softmax-gradient", Config::kThreads, 0,
          [params, probabilities](EmulatedMachine& machine) {
            differentiate_rows<Config>(machine, params, probabilities);
          },
          Config::kBlocksOfRows};
}

EmulatedStep key_gradient_step(const Problem& problem, const ChainParams& params) {
  return product_step<KeyGradientTiles>(
      [&](auto visit) { visit_key_gradient(problem.head_dim, visit); },
      [params](auto row, EmulatedMachine& machine) {
        compute_key_gradient<decltype(row)>(machine, params);
      });
}

}  // namespace sparkbench::acsr
