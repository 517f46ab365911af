// Every kernel of the chain that is compiled for Hopper alone, each a row of one table, as
// instances.h of m8n8k4 has them. Softmax of long rows is that table's.
#pragma once

#include "kernels/acsr/head_dims.h"
#include "kernels/acsr/hopper/config.h"

namespace sparkbench::acsr::hopper {

inline constexpr char kKernelName[] = "acsr-unfused-hopper";

// NOLINTBEGIN(bugprone-macro-parentheses): types and strings that are joined take none.
// clang-format off
#define SPARK_ACSR_HOPPER_SCORES(ROW)                                                             \
  ROW(acsr_unfused_hopper_sddmm_d64,  "acsr-unfused-hopper/sddmm/d64",  ScoresConfig<64, 8>)      \
  ROW(acsr_unfused_hopper_sddmm_d128, "acsr-unfused-hopper/sddmm/d128", ScoresConfig<128, 72>)
#define SPARK_ACSR_HOPPER_SOFTMAX(ROW)                                                            \
  ROW(acsr_unfused_hopper_softmax_short, "acsr-unfused-hopper/softmax/short", ShortSoftmaxConfig)
#define SPARK_ACSR_HOPPER_SOFTMAX_GRADIENT(ROW)                                                   \
  ROW(acsr_unfused_hopper_softmax_gradient_short, "acsr-unfused-hopper/softmax-gradient/short",   \
      ShortSoftmaxGradientConfig)
#define SPARK_ACSR_HOPPER_OUTPUT(ROW)                                                             \
  ROW(acsr_unfused_hopper_spmm_d64,   "acsr-unfused-hopper/spmm/d64",   OutputConfig<64, 8>)      \
  ROW(acsr_unfused_hopper_spmm_d128,  "acsr-unfused-hopper/spmm/d128",  OutputConfig<128, 72>)
#define SPARK_ACSR_HOPPER_KEY_GRADIENT(ROW)                                                       \
  ROW(acsr_unfused_hopper_spmm_transposed_d64,  "acsr-unfused-hopper/spmm-transposed/d64",        \
      KeyGradientConfig<64, 8>)                                                                   \
  ROW(acsr_unfused_hopper_spmm_transposed_d128, "acsr-unfused-hopper/spmm-transposed/d128",       \
      KeyGradientConfig<128, 72>)
// clang-format on
// NOLINTEND(bugprone-macro-parentheses)

#define SPARK_ACSR_ROW(symbol, id, ...)    \
  if (serves<__VA_ARGS__>(head_dim)) {     \
    return visit(__VA_ARGS__{}, id), true; \
  }
/// Calls visit(Config{}, id) of the row that serves; false where there is none.
template <class Visit>
bool visit_scores(int head_dim, Visit&& visit) {
  SPARK_ACSR_HOPPER_SCORES(SPARK_ACSR_ROW)
  return false;
}
template <class Visit>
bool visit_output(int head_dim, Visit&& visit) {
  SPARK_ACSR_HOPPER_OUTPUT(SPARK_ACSR_ROW)
  return false;
}
template <class Visit>
bool visit_key_gradient(int head_dim, Visit&& visit) {
  SPARK_ACSR_HOPPER_KEY_GRADIENT(SPARK_ACSR_ROW)
  return false;
}
#undef SPARK_ACSR_ROW

}  // namespace sparkbench::acsr::hopper
