#include "kernels/acsr/emulated_steps.h"
#include "kernels/acsr/volta/instances.h"
#include "kernels/acsr/volta/key_gradient.h"
#include "kernels/acsr/volta/output.h"
#include "kernels/acsr/volta/scores.h"

namespace sparkbench::acsr {
namespace {

EmulatedStep scores(const Problem& problem, const MaskRows& /*rows*/, const ChainParams& params) {
  return product_step<ScoresTiles>([&](auto visit) { visit_scores(problem.head_dim, visit); },
                                   [params](auto row, EmulatedMachine& machine) {
                                     compute_scores<decltype(row)>(machine, params);
                                   });
}

EmulatedStep output(const Problem& problem, const MaskRows& /*rows*/, const ChainParams& params) {
  return product_step<OutputTiles>([&](auto visit) { visit_output(problem.head_dim, visit); },
                                   [params](auto row, EmulatedMachine& machine) {
                                     compute_output<decltype(row)>(machine, params);
                                   });
}

EmulatedStep key_gradient(const Problem& problem, const MaskRows& /*rows*/,
                          const ChainParams& params) {
  return product_step<KeyGradientTiles>(
      [&](auto visit) { visit_key_gradient(problem.head_dim, visit); },
      [params](auto row, EmulatedMachine& machine) {
        compute_key_gradient<decltype(row)>(machine, params);
      });
}

EmulatedStep softmax(const Problem& /*problem*/, const MaskRows& /*rows*/,
                     const ChainParams& params) {
  return softmax_step<SoftmaxConfig>("acsr-unfused/softmax", params);
}

EmulatedStep softmax_gradient(const Problem& /*problem*/, const MaskRows& /*rows*/,
                              const ChainParams& params, const Half* probabilities) {
  return softmax_gradient_step<SoftmaxGradientConfig>("acsr-unfused/softmax-gradient", params,
                                                      probabilities);
}

}  // namespace

const EmulatedSteps kEmulatedM8n8k4 = {scores, softmax, output, softmax_gradient, key_gradient};

}  // namespace sparkbench::acsr
