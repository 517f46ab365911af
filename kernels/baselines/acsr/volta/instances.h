// Every kernel of this folder as it is compiled, each a row of one table:
//   ROW(symbol, id, configuration)
// "sddmm" and "spmm" of 64 and 128 columns serve the multiples of 8 up to these: columns that
// tensors lack are zeros in shared memory.
#pragma once

#include "kernels/baselines/acsr/softmax_config.h"
#include "kernels/baselines/acsr/volta/config.h"

namespace sparkbench::acsr {

inline constexpr char kKernelName[] = "acsr-unfused";
inline constexpr int kMostHeadDim = 128;

// NOLINTBEGIN(bugprone-macro-parentheses): types and strings that are joined take none.
// clang-format off
#define SPARK_ACSR_SCORES(ROW)                                                          \
  ROW(acsr_unfused_sddmm_d64,  "acsr-unfused/sddmm/d64",  ScoresConfig<64, 8>)          \
  ROW(acsr_unfused_sddmm_d128, "acsr-unfused/sddmm/d128", ScoresConfig<128, 72>)
#define SPARK_ACSR_SOFTMAX(ROW)                                                         \
  ROW(acsr_unfused_softmax,    "acsr-unfused/softmax",    SoftmaxConfig)
#define SPARK_ACSR_OUTPUT(ROW)                                                          \
  ROW(acsr_unfused_spmm_d64,   "acsr-unfused/spmm/d64",   OutputConfig<64, 8>)          \
  ROW(acsr_unfused_spmm_d128,  "acsr-unfused/spmm/d128",  OutputConfig<128, 72>)
#define SPARK_ACSR_SOFTMAX_GRADIENT(ROW)                                                \
  ROW(acsr_unfused_softmax_gradient, "acsr-unfused/softmax-gradient", SoftmaxGradientConfig)
#define SPARK_ACSR_KEY_GRADIENT(ROW)                                                    \
  ROW(acsr_unfused_spmm_transposed_d64,  "acsr-unfused/spmm-transposed/d64",            \
      KeyGradientConfig<64, 8>)                                                         \
  ROW(acsr_unfused_spmm_transposed_d128, "acsr-unfused/spmm-transposed/d128",           \
      KeyGradientConfig<128, 72>)
// clang-format on
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace sparkbench::acsr
