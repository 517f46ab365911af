#include "kernels/acsr/emulated_steps.h"
#include "kernels/acsr/hopper/instances.h"
#include "kernels/acsr/hopper/key_gradient.h"
#include "kernels/acsr/hopper/output.h"
#include "kernels/acsr/hopper/scores.h"

namespace sparkbench::acsr::hopper {
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
