// The likely time of an encoder layer on a V100, with its doubt: of the attention as its kernel's
// prediction has it, of everything else by published rates.
//
//   product  its FLOPs at the rate that cuBLAS has been published with for squares of as much work
//            (kGemmRates; no rate is fitted to a layer), at most kGemmTflopsAtMost with an extent
//            of 1024 or less, or its bytes at the bandwidth that kernels reach, whichever is longer
//   rows     their bytes at that bandwidth
//   each     what a launch costs besides
// An epilogue costs nothing. What a stage leaves in L2 for the next is not counted.
#pragma once

#include <array>
#include <vector>

#include "harness/model/predict/problem_time.h"
#include "reference/encoder/layer_steps.h"

namespace sparkbench {

/// Time of all steps but the attention.
ThreeWays time_of_steps(const std::vector<LayerStep>& steps);

/// Forward and backward, as far as the pass has them.
struct AttentionTime {
  ThreeWays ms{};
  int launches = 0;
  std::string binding;
};

struct LayerTime {
  PassTime whole;
  std::array<ThreeWays, kStages.size()> stage_ms{};  // in the order of kStages
  std::array<int, kStages.size()> launches{};
};

/// The ends of the rest are besides by kShareOfRates. `binding` is "launch" where launches take
/// half of the likely time, else what binds the attention where that takes half, else "tensor"
/// where products bound by their rate take more than everything else, else "hbm".
LayerTime time_of_layer(const std::vector<LayerStep>& steps, const AttentionTime& attention);

}  // namespace sparkbench
