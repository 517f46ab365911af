// The table of compiled kernels: ROW(symbol, id, Config), from which launch, emulation, `inspect`
// and tests take them.
#pragma once

#include "kernels/hopper/backward_config.h"
#include "kernels/hopper/forward_config.h"

namespace sparkbench::hopper {

// clang-format off
/// By the columns that are multiplied, fewest first: a problem takes the first row that serves it.
/// The last number is the fewest columns that its tensors may have.
#define SPARK_HOPPER_COLUMNS(OF, ROW)                                                         \
  OF(ROW, 32, 8)                                                                              \
  OF(ROW, 64, 40)                                                                             \
  OF(ROW, 80, 72)                                                                             \
  OF(ROW, 96, 88)                                                                             \
  OF(ROW, 128, 104)                                                                           \
  OF(ROW, 256, 136)
#define SPARK_HOPPER_SPARSE_COLUMNS(OF, ROW)                                                  \
  OF(ROW, 64, 8)                                                                              \
  OF(ROW, 128, 72)                                                                            \
  OF(ROW, 256, 136)

#define SPARK_HOPPER_FORWARD_OF(ROW, columns, least)                                          \
  ROW(hopper_fp32acc_fwd_d##columns, "hopper-fp32acc/fwd/d" #columns,                         \
      ForwardConfig<columns, false, least>)                                                   \
  ROW(hopper_fp32acc_fwd_d##columns##_dropout, "hopper-fp32acc/fwd/d" #columns "/dropout",    \
      ForwardConfig<columns, true, least>)
#define SPARK_HOPPER_FORWARD(ROW) SPARK_HOPPER_COLUMNS(SPARK_HOPPER_FORWARD_OF, ROW)

/// The same for patterns.
#define SPARK_HOPPER_SPARSE_FORWARD_OF(ROW, columns, least)                                   \
  ROW(hopper_fp32acc_fwd_d##columns##_sparse, "hopper-fp32acc/fwd/d" #columns "/sparse",      \
      ForwardConfig<columns, false, least, Blocks::kSparse>)                                             \
  ROW(hopper_fp32acc_fwd_d##columns##_dropout_sparse,                                         \
      "hopper-fp32acc/fwd/d" #columns "/dropout/sparse",                                      \
      ForwardConfig<columns, true, least, Blocks::kSparse>)
#define SPARK_HOPPER_SPARSE_FORWARD(ROW)                                                      \
  SPARK_HOPPER_SPARSE_COLUMNS(SPARK_HOPPER_SPARSE_FORWARD_OF, ROW)

/// dQ, and dK and dV.
#define SPARK_HOPPER_BACKWARD_DQ_OF(ROW, columns, least)                                      \
  ROW(hopper_fp32acc_bwd_dq_d##columns, "hopper-fp32acc/bwd-dq/d" #columns,                   \
      BackwardDqConfig<columns, false, least>)                                                \
  ROW(hopper_fp32acc_bwd_dq_d##columns##_dropout,                                             \
      "hopper-fp32acc/bwd-dq/d" #columns "/dropout", BackwardDqConfig<columns, true, least>)
#define SPARK_HOPPER_BACKWARD_OF(ROW, columns, least)                                         \
  ROW(hopper_fp32acc_bwd_d##columns, "hopper-fp32acc/bwd/d" #columns "/deterministic",        \
      BackwardConfig<columns, false, least>)                                                  \
  ROW(hopper_fp32acc_bwd_d##columns##_dropout,                                                \
      "hopper-fp32acc/bwd/d" #columns "/dropout/deterministic",                               \
      BackwardConfig<columns, true, least>)
#define SPARK_HOPPER_BACKWARD_DQ(ROW) SPARK_HOPPER_COLUMNS(SPARK_HOPPER_BACKWARD_DQ_OF, ROW)
#define SPARK_HOPPER_BACKWARD(ROW) SPARK_HOPPER_COLUMNS(SPARK_HOPPER_BACKWARD_OF, ROW)

#define SPARK_HOPPER_SPARSE_BACKWARD_DQ_OF(ROW, columns, least)                               \
  ROW(hopper_fp32acc_bwd_dq_d##columns##_sparse, "hopper-fp32acc/bwd-dq/d" #columns "/sparse", \
      BackwardDqConfig<columns, false, least, Blocks::kSparse>)                                          \
  ROW(hopper_fp32acc_bwd_dq_d##columns##_dropout_sparse,                                      \
      "hopper-fp32acc/bwd-dq/d" #columns "/dropout/sparse",                                   \
      BackwardDqConfig<columns, true, least, Blocks::kSparse>)
#define SPARK_HOPPER_SPARSE_BACKWARD_OF(ROW, columns, least)                                  \
  ROW(hopper_fp32acc_bwd_d##columns##_sparse,                                                 \
      "hopper-fp32acc/bwd/d" #columns "/sparse/deterministic",                                \
      BackwardConfig<columns, false, least, Blocks::kSparse>)                                            \
  ROW(hopper_fp32acc_bwd_d##columns##_dropout_sparse,                                         \
      "hopper-fp32acc/bwd/d" #columns "/dropout/sparse/deterministic",                        \
      BackwardConfig<columns, true, least, Blocks::kSparse>)
#define SPARK_HOPPER_SPARSE_BACKWARD_DQ(ROW)                                                  \
  SPARK_HOPPER_SPARSE_COLUMNS(SPARK_HOPPER_SPARSE_BACKWARD_DQ_OF, ROW)
#define SPARK_HOPPER_SPARSE_BACKWARD(ROW)                                                     \
  SPARK_HOPPER_SPARSE_COLUMNS(SPARK_HOPPER_SPARSE_BACKWARD_OF, ROW)

/// The same for packed sequences.
#define SPARK_HOPPER_PACKED_FORWARD_OF(ROW, columns, least)                                   \
  ROW(hopper_fp32acc_fwd_d##columns##_packed, "hopper-fp32acc/fwd/d" #columns "/packed",      \
      ForwardConfig<columns, false, least, Blocks::kPacked>)                                  \
  ROW(hopper_fp32acc_fwd_d##columns##_dropout_packed,                                         \
      "hopper-fp32acc/fwd/d" #columns "/dropout/packed",                                      \
      ForwardConfig<columns, true, least, Blocks::kPacked>)
#define SPARK_HOPPER_PACKED_FORWARD(ROW)                                                      \
  SPARK_HOPPER_COLUMNS(SPARK_HOPPER_PACKED_FORWARD_OF, ROW)

#define SPARK_HOPPER_PACKED_BACKWARD_DQ_OF(ROW, columns, least)                               \
  ROW(hopper_fp32acc_bwd_dq_d##columns##_packed, "hopper-fp32acc/bwd-dq/d" #columns "/packed", \
      BackwardDqConfig<columns, false, least, Blocks::kPacked>)                               \
  ROW(hopper_fp32acc_bwd_dq_d##columns##_dropout_packed,                                      \
      "hopper-fp32acc/bwd-dq/d" #columns "/dropout/packed",                                   \
      BackwardDqConfig<columns, true, least, Blocks::kPacked>)
#define SPARK_HOPPER_PACKED_BACKWARD_OF(ROW, columns, least)                                  \
  ROW(hopper_fp32acc_bwd_d##columns##_packed,                                                 \
      "hopper-fp32acc/bwd/d" #columns "/packed/deterministic",                                \
      BackwardConfig<columns, false, least, Blocks::kPacked>)                                 \
  ROW(hopper_fp32acc_bwd_d##columns##_dropout_packed,                                         \
      "hopper-fp32acc/bwd/d" #columns "/dropout/packed/deterministic",                        \
      BackwardConfig<columns, true, least, Blocks::kPacked>)
#define SPARK_HOPPER_PACKED_BACKWARD_DQ(ROW)                                                  \
  SPARK_HOPPER_COLUMNS(SPARK_HOPPER_PACKED_BACKWARD_DQ_OF, ROW)
#define SPARK_HOPPER_PACKED_BACKWARD(ROW)                                                     \
  SPARK_HOPPER_COLUMNS(SPARK_HOPPER_PACKED_BACKWARD_OF, ROW)
// clang-format on

}  // namespace sparkbench::hopper
