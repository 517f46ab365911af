#include "kernels/acsr/emulated_steps.h"
#include "kernels/acsr/hopper/instances.h"
#include "kernels/acsr/hopper/key_gradient.h"
#include "kernels/acsr/hopper/output.h"
#include "kernels/acsr/hopper/scores.h"

namespace sparkbench::acsr::hopper {
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

EmulatedStep softmax(const Problem& problem, const MaskRows& rows, const ChainParams& params) {
  if (!has_short_rows(rows.most_chunks())) return kEmulatedM8n8k4.softmax(problem, rows, params);
  return softmax_step<ShortSoftmaxConfig>("acsr-unfused-hopper/softmax/short", params);
}

EmulatedStep softmax_gradient(const Problem& problem, const MaskRows& rows,
                              const ChainParams& params, const Half* probabilities) {
  if (!has_short_rows(rows.most_chunks())) {
    return kEmulatedM8n8k4.softmax_gradient(problem, rows, params, probabilities);
  }
  return softmax_gradient_step<ShortSoftmaxGradientConfig>(
      "acsr-unfused-hopper/softmax-gradient/short", params, probabilities);
}

}  // namespace

}  // namespace sparkbench::acsr::hopper

namespace sparkbench::acsr {

const EmulatedSteps kEmulatedWgmma = {hopper::scores, hopper::softmax, hopper::output,
                                      hopper::softmax_gradient, hopper::key_gradient};

}  // namespace sparkbench::acsr
