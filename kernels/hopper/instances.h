// The table of compiled kernels: ROW(symbol, id, Config), from which launch, emulation, `inspect`
// and tests take them.
#pragma once

#include "kernels/hopper/forward_config.h"

namespace sparkbench::hopper {

// clang-format off
#define SPARK_HOPPER_FORWARD_OF(ROW, columns, least)                                          \
  ROW(hopper_fp32acc_fwd_d##columns, "hopper-fp32acc/fwd/d" #columns,                         \
      ForwardConfig<columns, false, least>)                                                   \
  ROW(hopper_fp32acc_fwd_d##columns##_dropout, "hopper-fp32acc/fwd/d" #columns "/dropout",    \
      ForwardConfig<columns, true, least>)
/// By the columns that are multiplied, fewest first: a problem takes the first row that serves it.
#define SPARK_HOPPER_FORWARD(ROW)                                                             \
  SPARK_HOPPER_FORWARD_OF(ROW, 32, 8)                                                         \
  SPARK_HOPPER_FORWARD_OF(ROW, 64, 40)                                                        \
  SPARK_HOPPER_FORWARD_OF(ROW, 80, 72)                                                        \
  SPARK_HOPPER_FORWARD_OF(ROW, 96, 88)                                                        \
  SPARK_HOPPER_FORWARD_OF(ROW, 128, 104)                                                      \
  SPARK_HOPPER_FORWARD_OF(ROW, 256, 136)

#define SPARK_HOPPER_SPARSE_FORWARD_OF(ROW, columns, least)                                   \
  ROW(hopper_fp32acc_fwd_d##columns##_sparse, "hopper-fp32acc/fwd/d" #columns "/sparse",      \
      ForwardConfig<columns, false, least, true>)                                             \
  ROW(hopper_fp32acc_fwd_d##columns##_dropout_sparse,                                         \
      "hopper-fp32acc/fwd/d" #columns "/dropout/sparse",                                      \
      ForwardConfig<columns, true, least, true>)
/// The same for patterns.
#define SPARK_HOPPER_SPARSE_FORWARD(ROW)                                                      \
  SPARK_HOPPER_SPARSE_FORWARD_OF(ROW, 64, 8)                                                  \
  SPARK_HOPPER_SPARSE_FORWARD_OF(ROW, 128, 72)                                                \
  SPARK_HOPPER_SPARSE_FORWARD_OF(ROW, 256, 136)
// clang-format on

}  // namespace sparkbench::hopper
