// The table of compiled kernels: ROW(symbol, id, Config), from which launch, emulation, `inspect`
// and tests take them.
#pragma once

#include "kernels/hopper/backward/carried_config.h"
#include "kernels/hopper/backward/config.h"
#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/forward/config.h"

namespace sparkbench::hopper {

// clang-format off
/// By the columns that are multiplied, fewest first: a problem takes the first row that serves it.
/// The last number is the fewest columns that its tensors may have.
#define SPARK_HOPPER_COLUMNS_TO_128(OF, ROW)                                                  \
  OF(ROW, 32, 8)                                                                              \
  OF(ROW, 64, 40)                                                                             \
  OF(ROW, 80, 72)                                                                             \
  OF(ROW, 96, 88)                                                                             \
  OF(ROW, 128, 104)
#define SPARK_HOPPER_COLUMNS(OF, ROW) SPARK_HOPPER_COLUMNS_TO_128(OF, ROW) OF(ROW, 256, 136)
#define SPARK_HOPPER_WIDE_COLUMNS(OF, ROW) OF(ROW, 80, 72) OF(ROW, 96, 88) OF(ROW, 128, 104)
#define SPARK_HOPPER_SPARSE_COLUMNS(OF, ROW) OF(ROW, 64, 8) OF(ROW, 128, 72) OF(ROW, 256, 136)

/// The rows of a kernel of so many columns, without and with dropout, for such blocks: symbol
/// KERNEL d<columns>[_dropout] SYMBOL, and id KERNEL_ID d<columns>[/dropout] ID.
#define SPARK_HOPPER_ROWS(ROW, kernel, kernel_id, symbol, id, columns, least, Config, ...)    \
  ROW(kernel##columns##symbol, kernel_id #columns id,                                         \
      Config<columns, false, least, __VA_ARGS__>)                                             \
  ROW(kernel##columns##_dropout##symbol, kernel_id #columns "/dropout" id,                    \
      Config<columns, true, least, __VA_ARGS__>)

#define SPARK_HOPPER_FORWARD_OF(ROW, columns, least)                                          \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_fwd_d, "hopper-fp32acc/fwd/d", , , columns, least,    \
                    ForwardConfig, Blocks::kDense)
#define SPARK_HOPPER_NARROW_RUNS_FORWARD_OF(ROW, columns, least)                              \
  ROW(hopper_fp32acc_fwd_d##columns##_runs, "hopper-fp32acc/fwd/d" #columns "/runs",          \
      ForwardConfig<columns, false, least, Blocks::kRuns>)
#define SPARK_HOPPER_RUNS_FORWARD_OF(ROW, columns, least)                                     \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_fwd_d, "hopper-fp32acc/fwd/d", _runs, "/runs",        \
                    columns, least, ForwardConfig, Blocks::kRuns)
#define SPARK_HOPPER_SPARSE_FORWARD_OF(ROW, columns, least)                                   \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_fwd_d, "hopper-fp32acc/fwd/d", _sparse, "/sparse",    \
                    columns, least, ForwardConfig, Blocks::kSparse)
#define SPARK_HOPPER_PACKED_FORWARD_OF(ROW, columns, least)                                   \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_fwd_d, "hopper-fp32acc/fwd/d", _packed, "/packed",    \
                    columns, least, ForwardConfig, Blocks::kPacked)
#define SPARK_HOPPER_FORWARD(ROW) SPARK_HOPPER_COLUMNS(SPARK_HOPPER_FORWARD_OF, ROW)
/// None with dropout up to 64 columns, where they are no faster (ladder.md).
#define SPARK_HOPPER_RUNS_FORWARD(ROW)                                                        \
  SPARK_HOPPER_NARROW_RUNS_FORWARD_OF(ROW, 32, 8)                                             \
  SPARK_HOPPER_NARROW_RUNS_FORWARD_OF(ROW, 64, 40)                                            \
  SPARK_HOPPER_WIDE_COLUMNS(SPARK_HOPPER_RUNS_FORWARD_OF, ROW)
#define SPARK_HOPPER_SPARSE_FORWARD(ROW)                                                      \
  SPARK_HOPPER_SPARSE_COLUMNS(SPARK_HOPPER_SPARSE_FORWARD_OF, ROW)
#define SPARK_HOPPER_PACKED_FORWARD(ROW)                                                      \
  SPARK_HOPPER_COLUMNS(SPARK_HOPPER_PACKED_FORWARD_OF, ROW)

/// The dQ kernel.
#define SPARK_HOPPER_BACKWARD_DQ_OF(ROW, columns, least)                                      \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_dq_d, "hopper-fp32acc/bwd-dq/d", , , columns,     \
                    least, BackwardDqConfig, Blocks::kDense)
#define SPARK_HOPPER_SPARSE_BACKWARD_DQ_OF(ROW, columns, least)                               \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_dq_d, "hopper-fp32acc/bwd-dq/d", _sparse,         \
                    "/sparse", columns, least, BackwardDqConfig, Blocks::kSparse)
#define SPARK_HOPPER_PACKED_BACKWARD_DQ_OF(ROW, columns, least)                               \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_dq_d, "hopper-fp32acc/bwd-dq/d", _packed,         \
                    "/packed", columns, least, BackwardDqConfig, Blocks::kPacked)
#define SPARK_HOPPER_BACKWARD_DQ(ROW) SPARK_HOPPER_COLUMNS(SPARK_HOPPER_BACKWARD_DQ_OF, ROW)
#define SPARK_HOPPER_SPARSE_BACKWARD_DQ(ROW)                                                  \
  SPARK_HOPPER_SPARSE_COLUMNS(SPARK_HOPPER_SPARSE_BACKWARD_DQ_OF, ROW)
#define SPARK_HOPPER_PACKED_BACKWARD_DQ(ROW)                                                  \
  SPARK_HOPPER_COLUMNS(SPARK_HOPPER_PACKED_BACKWARD_DQ_OF, ROW)

/// The dK/dV kernel.
#define SPARK_HOPPER_BACKWARD_OF(ROW, columns, least)                                         \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_d, "hopper-fp32acc/bwd/d", _deterministic,        \
                    "/deterministic", columns, least, BackwardConfig, Blocks::kDense)
#define SPARK_HOPPER_SPARSE_BACKWARD_OF(ROW, columns, least)                                  \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_d, "hopper-fp32acc/bwd/d", _sparse_deterministic, \
                    "/sparse/deterministic", columns, least, BackwardConfig, Blocks::kSparse)
#define SPARK_HOPPER_PACKED_BACKWARD_OF(ROW, columns, least)                                  \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_d, "hopper-fp32acc/bwd/d", _packed_deterministic, \
                    "/packed/deterministic", columns, least, BackwardConfig, Blocks::kPacked)
#define SPARK_HOPPER_BACKWARD(ROW) SPARK_HOPPER_COLUMNS(SPARK_HOPPER_BACKWARD_OF, ROW)
#define SPARK_HOPPER_SPARSE_BACKWARD(ROW)                                                     \
  SPARK_HOPPER_SPARSE_COLUMNS(SPARK_HOPPER_SPARSE_BACKWARD_OF, ROW)
#define SPARK_HOPPER_PACKED_BACKWARD(ROW)                                                     \
  SPARK_HOPPER_COLUMNS(SPARK_HOPPER_PACKED_BACKWARD_OF, ROW)

/// The dK/dV kernel with sums of dQ: up to 128 columns, above which warpgroups share keys.
#define SPARK_HOPPER_BACKWARD_SUMS_OF(ROW, columns, least)                                    \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_d, "hopper-fp32acc/bwd/d", , , columns, least,    \
                    BackwardConfig, Blocks::kDense, true)
#define SPARK_HOPPER_PACKED_BACKWARD_SUMS_OF(ROW, columns, least)                             \
  SPARK_HOPPER_ROWS(ROW, hopper_fp32acc_bwd_d, "hopper-fp32acc/bwd/d", _packed, "/packed",    \
                    columns, least, BackwardConfig, Blocks::kPacked, true)
#define SPARK_HOPPER_BACKWARD_SUMS(ROW)                                                       \
  SPARK_HOPPER_COLUMNS_TO_128(SPARK_HOPPER_BACKWARD_SUMS_OF, ROW)
#define SPARK_HOPPER_PACKED_BACKWARD_SUMS(ROW)                                                \
  SPARK_HOPPER_COLUMNS_TO_128(SPARK_HOPPER_PACKED_BACKWARD_SUMS_OF, ROW)

/// The fused kernel of dK, dV and dQ, for windows.
#define SPARK_HOPPER_BACKWARD_CARRIED_OF(ROW, columns, least)                                 \
  ROW(hopper_fp32acc_bwd_d##columns##_carried, "hopper-fp32acc/bwd/d" #columns "/carried",    \
      CarriedConfig<columns, false, least>)                                                   \
  ROW(hopper_fp32acc_bwd_d##columns##_dropout_carried,                                        \
      "hopper-fp32acc/bwd/d" #columns "/dropout/carried", CarriedConfig<columns, true, least>)
#define SPARK_HOPPER_BACKWARD_CARRIED(ROW)                                                    \
  SPARK_HOPPER_COLUMNS_TO_128(SPARK_HOPPER_BACKWARD_CARRIED_OF, ROW)

/// The kernels over rows, of any head_dim.
#define SPARK_HOPPER_STATISTICS(ROW)                                                          \
  ROW(hopper_fp32acc_bwd_statistics, "hopper-fp32acc/bwd-statistics", StatisticsConfig)
#define SPARK_HOPPER_ROUND_DQ(ROW)                                                            \
  ROW(hopper_fp32acc_bwd_round_dq, "hopper-fp32acc/bwd-round-dq", RoundDqConfig)
// clang-format on

}  // namespace sparkbench::hopper
