#include "kernels/acsr/emulated_steps.h"
#include "kernels/acsr/volta/instances.h"
#include "kernels/acsr/volta/key_gradient.h"
#include "kernels/acsr/volta/output.h"
#include "kernels/acsr/volta/scores.h"

namespace sparkbench::acsr {
namespace {

EmulatedStep scores(const Problem& problem, const MaskRows& /*rows*/, const ChainParams& params) {
  EmulatedStep step;
  visit_scores(problem.head_dim, [&](auto row, const char* id) {
    using Config = decltype(row);
    step = {id, Config::kThreads, sizeof(ScoresTiles<Config>),
            [params](EmulatedMachine& machine) { compute_scores<Config>(machine, params); }};
  });
  return step;
}

EmulatedStep output(const Problem& problem, const MaskRows& /*rows*/, const ChainParams& params) {
  EmulatedStep step;
  visit_output(problem.head_dim, [&](auto row, const char* id) {
    using Config = decltype(row);
    step = {id, Config::kThreads, sizeof(OutputTiles<Config>),
            [params](EmulatedMachine& machine) { compute_output<Config>(machine, params); }};
  });
  return step;
}

EmulatedStep key_gradient(const Problem& problem, const MaskRows& /*rows*/,
                          const ChainParams& params) {
  EmulatedStep step;
  visit_key_gradient(problem.head_dim, [&](auto row, const char* id) {
    using Config = decltype(row);
    step = {id, Config::kThreads, sizeof(KeyGradientTiles<Config>),
            [params](EmulatedMachine& machine) { compute_key_gradient<Config>(machine, params); }};
  });
  return step;
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
