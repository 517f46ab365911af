// Every kernel of this folder as it is compiled, each a row of one table:
//   ROW(symbol, id, configuration)
// Launch, emulation and `sparkbench-model inspect` take the names from here. Rows of the same
// work stand in the order of preference: the first that fits into a block's shared memory is taken.
// The last parts of an id are a configuration's own for SMs of 64 KiB (Turing): "/4" warps of a
// forward kernel, "/128/1" keys and teams of a "bwd". A tile serves the multiples of 8 that no
// narrower one holds (padding.h). Only for backward kernels of 64 columns, and dQ kernels, a row of
// exactly as many columns is faster: a "/padded" row serves the other head_dims. "/short" rows
// serve only the problems of short_blocks.h, and "/relay" those of backward/relay_plan.h.
#pragma once

#include "kernels/volta/instance_configs.h"

namespace sparkbench::volta {

// NOLINTBEGIN(bugprone-macro-parentheses): types and strings that are joined take none.
// clang-format off
/// Each serves the multiples of 8 that no narrower tile holds. On SMs of 64 KiB the "/4" rows serve
/// what is wider than 80.
#define SPARK_VOLTA_FORWARD_OF(ROW, symbol, name, Forward)                                      \
  ROW(symbol##_fwd_d32,          name "/fwd/d32",                                               \
      Forward<32, false, forward_warps(32), least_head_dim(32)>)                                \
  ROW(symbol##_fwd_d32_dropout,  name "/fwd/d32/dropout",                                       \
      Forward<32, true, forward_warps(32), least_head_dim(32)>)                                 \
  ROW(symbol##_fwd_d64,          name "/fwd/d64",                                               \
      Forward<64, false, forward_warps(64), least_head_dim(64)>)                                \
  ROW(symbol##_fwd_d64_dropout,  name "/fwd/d64/dropout",                                       \
      Forward<64, true, forward_warps(64), least_head_dim(64)>)                                 \
  ROW(symbol##_fwd_d80,          name "/fwd/d80",                                               \
      Forward<80, false, forward_warps(80), least_head_dim(80)>)                                \
  ROW(symbol##_fwd_d80_dropout,  name "/fwd/d80/dropout",                                       \
      Forward<80, true, forward_warps(80), least_head_dim(80)>)                                 \
  ROW(symbol##_fwd_d96,          name "/fwd/d96",                                               \
      Forward<96, false, forward_warps(96), least_head_dim(96)>)                                \
  ROW(symbol##_fwd_d96_dropout,  name "/fwd/d96/dropout",                                       \
      Forward<96, true, forward_warps(96), least_head_dim(96)>)                                 \
  ROW(symbol##_fwd_d128,         name "/fwd/d128",                                              \
      Forward<128, false, forward_warps(128), least_head_dim(128)>)                             \
  ROW(symbol##_fwd_d128_4,       name "/fwd/d128/4",                                            \
      Forward<128, false, kForwardWarpsOf64KiB, least_head_dim_of_64_kib(128)>)                 \
  ROW(symbol##_fwd_d128_dropout, name "/fwd/d128/dropout",                                      \
      Forward<128, true, forward_warps(128), least_head_dim(128)>)                              \
  ROW(symbol##_fwd_d128_dropout_4, name "/fwd/d128/dropout/4",                                  \
      Forward<128, true, kForwardWarpsOf64KiB, least_head_dim_of_64_kib(128)>)                  \
  ROW(symbol##_fwd_d256,         name "/fwd/d256",                                              \
      Forward<256, false, forward_warps(256), least_head_dim(256)>)                             \
  ROW(symbol##_fwd_d256_dropout, name "/fwd/d256/dropout",                                      \
      Forward<256, true, forward_warps(256), least_head_dim(256)>)

/// Short blocks, for SMs of either size.
#define SPARK_VOLTA_SHORT_FORWARD_OF(ROW, symbol, name, Forward, columns)                       \
  ROW(symbol##_fwd_d##columns##_short, name "/fwd/d" #columns "/short",                         \
      ShortBlocks<Forward<columns, false, forward_warps(columns), least_head_dim(columns)>>)    \
  ROW(symbol##_fwd_d##columns##_dropout_short, name "/fwd/d" #columns "/dropout/short",         \
      ShortBlocks<Forward<columns, true, forward_warps(columns), least_head_dim(columns)>>)

#define SPARK_VOLTA_FORWARD(ROW)                                                                \
  SPARK_VOLTA_SHORT_FORWARD_OF(ROW, volta_fp16acc, "volta-fp16acc", ForwardFp16Acc, 64)         \
  SPARK_VOLTA_SHORT_FORWARD_OF(ROW, volta_fp16acc, "volta-fp16acc", ForwardFp16Acc, 128)        \
  SPARK_VOLTA_FORWARD_OF(ROW, volta_fp16acc, "volta-fp16acc", ForwardFp16Acc)                   \
  SPARK_VOLTA_SHORT_FORWARD_OF(ROW, volta_fp32acc, "volta-fp32acc", ForwardFp32Acc, 64)         \
  SPARK_VOLTA_SHORT_FORWARD_OF(ROW, volta_fp32acc, "volta-fp32acc", ForwardFp32Acc, 128)        \
  SPARK_VOLTA_FORWARD_OF(ROW, volta_fp32acc, "volta-fp32acc", ForwardFp32Acc)

/// For varlen, of any head_dim up to the tile's columns.
#define SPARK_VOLTA_PACKED_FORWARD_OF(ROW, symbol, name, Forward, columns)                      \
  ROW(symbol##_fwd_d##columns##_packed, name "/fwd/d" #columns "/packed",                       \
      PackedForward<Forward<columns, false, forward_warps(columns), least_head_dim(columns)>>)  \
  ROW(symbol##_fwd_d##columns##_dropout_packed, name "/fwd/d" #columns "/dropout/packed",       \
      PackedForward<Forward<columns, true, forward_warps(columns), least_head_dim(columns)>>)

#define SPARK_VOLTA_PACKED_FORWARD(ROW)                                                         \
  SPARK_VOLTA_PACKED_OF_COLUMNS(SPARK_VOLTA_PACKED_FORWARD_OF, ROW, volta_fp16acc,              \
                                "volta-fp16acc", ForwardFp16Acc)                                \
  SPARK_VOLTA_PACKED_OF_COLUMNS(SPARK_VOLTA_PACKED_FORWARD_OF, ROW, volta_fp32acc,              \
                                "volta-fp32acc", ForwardFp32Acc)

/// For patterns, of any head_dim up to the tile's columns.
#define SPARK_VOLTA_SPARSE_FORWARD_OF(ROW, symbol, name, Forward, columns)                      \
  ROW(symbol##_fwd_d##columns##_sparse, name "/fwd/d" #columns "/sparse",                       \
      SparseForward<Forward<columns, false, forward_warps(columns),                             \
                            least_head_dim_of_64_kib(columns)>>)                                \
  ROW(symbol##_fwd_d##columns##_dropout_sparse, name "/fwd/d" #columns "/dropout/sparse",       \
      SparseForward<Forward<columns, true, forward_warps(columns),                              \
                            least_head_dim_of_64_kib(columns)>>)

#define SPARK_VOLTA_SPARSE_FORWARD(ROW)                                                         \
  SPARK_VOLTA_SPARSE_OF_COLUMNS(SPARK_VOLTA_SPARSE_FORWARD_OF, ROW, volta_fp16acc,              \
                                "volta-fp16acc", ForwardFp16Acc)                                \
  SPARK_VOLTA_SPARSE_OF_COLUMNS(SPARK_VOLTA_SPARSE_FORWARD_OF, ROW, volta_fp32acc,              \
                                "volta-fp32acc", ForwardFp32Acc)

/// With and without the sums of dQ, which a deterministic pass leaves to the "bwd-dq" kernels. From
/// `least` columns on, and `small_least`.
#define SPARK_VOLTA_BACKWARD_OF(ROW, symbol, name, small, small_name, mma, head_dim, dropout, least, small_least) \
  ROW(symbol,                           name, BackwardConfig<mma, head_dim, dropout, true, least>)  \
  ROW(symbol##_##small,                 name small_name,                                        \
      SmallBackward<mma, head_dim, dropout, true, small_least>)                                 \
  ROW(symbol##_deterministic,           name "/deterministic",                                  \
      BackwardConfig<mma, head_dim, dropout, false, least>)                                     \
  ROW(symbol##_deterministic_##small,   name "/deterministic" small_name,                       \
      SmallBackward<mma, head_dim, dropout, false, small_least>)

/// Only where an SM has 96 KiB.
#define SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol, name, mma, head_dim, dropout, least)         \
  ROW(symbol,                           name, BackwardConfig<mma, head_dim, dropout, true, least>)  \
  ROW(symbol##_deterministic,           name "/deterministic",                                  \
      BackwardConfig<mma, head_dim, dropout, false, least>)

#define SPARK_VOLTA_BACKWARD_OF_ACCUMULATOR(ROW, symbol, name, mma)                             \
  SPARK_VOLTA_BACKWARD_OF(ROW, symbol##_bwd_d64, name "/bwd/d64",                               \
                          128_1, "/128/1", mma, 64, false, 64, 64)                              \
  SPARK_VOLTA_BACKWARD_OF(ROW, symbol##_bwd_d64_dropout, name "/bwd/d64/dropout",               \
                          128_1, "/128/1", mma, 64, true, 64, 64)                               \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d32, name "/bwd/d32", mma, 32, false,         \
                                least_head_dim(32))                                             \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d32_dropout, name "/bwd/d32/dropout", mma,    \
                                32, true, least_head_dim(32))                                   \
  SPARK_VOLTA_BACKWARD_OF(ROW, symbol##_bwd_d64_padded, name "/bwd/d64/padded",                 \
                          128_1, "/128/1", mma, 64, false, least_head_dim(64),                  \
                          least_head_dim_of_64_kib(64))                                         \
  SPARK_VOLTA_BACKWARD_OF(ROW, symbol##_bwd_d64_dropout_padded, name "/bwd/d64/dropout/padded", \
                          128_1, "/128/1", mma, 64, true, least_head_dim(64),                   \
                          least_head_dim_of_64_kib(64))                                         \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d80, name "/bwd/d80", mma, 80, false,         \
                                least_head_dim(80))                                             \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d80_dropout, name "/bwd/d80/dropout", mma,    \
                                80, true, least_head_dim(80))                                   \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d96, name "/bwd/d96", mma, 96, false,         \
                                least_head_dim(96))                                             \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d96_dropout, name "/bwd/d96/dropout", mma,    \
                                96, true, least_head_dim(96))                                   \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d256, name "/bwd/d256", mma, 256, false,      \
                                least_head_dim(256))                                            \
  SPARK_VOLTA_LARGE_BACKWARD_OF(ROW, symbol##_bwd_d256_dropout, name "/bwd/d256/dropout", mma,  \
                                256, true, least_head_dim(256))                                 \
  SPARK_VOLTA_BACKWARD_OF(ROW, symbol##_bwd_d128, name "/bwd/d128",                             \
                          64_1, "/64/1", mma, 128, false, least_head_dim(128),                  \
                          least_head_dim(128))                                                  \
  SPARK_VOLTA_BACKWARD_OF(ROW, symbol##_bwd_d128_dropout, name "/bwd/d128/dropout",             \
                          64_1, "/64/1", mma, 128, true, least_head_dim(128),                   \
                          least_head_dim(128))

/// Short blocks, only dK and dV.
#define SPARK_VOLTA_SHORT_BACKWARD_OF(ROW, symbol, name, mma)                                   \
  ROW(symbol##_bwd_d64_short_deterministic, name "/bwd/d64/short/deterministic",                \
      ShortBackward<mma, false, false>)                                                         \
  ROW(symbol##_bwd_d64_dropout_short_deterministic, name "/bwd/d64/dropout/short/deterministic", \
      ShortBackward<mma, true, false>)

/// With the dQ semaphore.
#define SPARK_VOLTA_BACKWARD_RELAY_OF(ROW, symbol, name, mma)                                   \
  ROW(symbol##_bwd_d64_relay, name "/bwd/d64/relay", RelayBackward<mma, 64, false>)             \
  ROW(symbol##_bwd_d64_dropout_relay, name "/bwd/d64/dropout/relay", RelayBackward<mma, 64, true>) \
  ROW(symbol##_bwd_d128_relay, name "/bwd/d128/relay", RelayBackward<mma, 128, false>)          \
  ROW(symbol##_bwd_d128_dropout_relay, name "/bwd/d128/dropout/relay", RelayBackward<mma, 128, true>)
#define SPARK_VOLTA_BACKWARD_RELAY(ROW)                                                         \
  SPARK_VOLTA_BACKWARD_RELAY_OF(ROW, volta_fp16acc, "volta-fp16acc", Accumulator::kFp16)        \
  SPARK_VOLTA_BACKWARD_RELAY_OF(ROW, volta_fp32acc, "volta-fp32acc", Accumulator::kFp32)

#define SPARK_VOLTA_BACKWARD(ROW)                                                               \
  SPARK_VOLTA_SHORT_BACKWARD_OF(ROW, volta_fp16acc, "volta-fp16acc", Accumulator::kFp16)        \
  SPARK_VOLTA_SHORT_BACKWARD_OF(ROW, volta_fp32acc, "volta-fp32acc", Accumulator::kFp32)        \
  SPARK_VOLTA_BACKWARD_OF_ACCUMULATOR(ROW, volta_fp16acc, "volta-fp16acc", Accumulator::kFp16)  \
  SPARK_VOLTA_BACKWARD_OF_ACCUMULATOR(ROW, volta_fp32acc, "volta-fp32acc", Accumulator::kFp32)

#define SPARK_VOLTA_BACKWARD_DQ_OF(ROW, symbol, name, mma)                                      \
  ROW(symbol##_bwd_dq_d64,             name "/bwd-dq/d64",         BackwardDqConfig<mma, 64, false>)  \
  ROW(symbol##_bwd_dq_d64_dropout,     name "/bwd-dq/d64/dropout", BackwardDqConfig<mma, 64, true>)   \
  ROW(symbol##_bwd_dq_d128,            name "/bwd-dq/d128",        BackwardDqConfig<mma, 128, false>) \
  ROW(symbol##_bwd_dq_d128_dropout,    name "/bwd-dq/d128/dropout",                             \
      BackwardDqConfig<mma, 128, true>)                                                         \
  SPARK_VOLTA_PADDED_BACKWARD_DQ_OF(ROW, symbol##_bwd_dq, name "/bwd-dq", mma)

#define SPARK_VOLTA_PADDED_BACKWARD_DQ_OF(ROW, symbol, name, mma)                               \
  ROW(symbol##_d32,                    name "/d32",                                             \
      BackwardDqConfig<mma, 32, false, least_head_dim(32)>)                                     \
  ROW(symbol##_d32_dropout,            name "/d32/dropout",                                     \
      BackwardDqConfig<mma, 32, true, least_head_dim(32)>)                                      \
  ROW(symbol##_d64_padded,             name "/d64/padded",                                      \
      BackwardDqConfig<mma, 64, false, least_head_dim(64)>)                                     \
  ROW(symbol##_d64_dropout_padded,     name "/d64/dropout/padded",                              \
      BackwardDqConfig<mma, 64, true, least_head_dim(64)>)                                      \
  ROW(symbol##_d80,                    name "/d80",                                             \
      BackwardDqConfig<mma, 80, false, least_head_dim(80)>)                                     \
  ROW(symbol##_d80_dropout,            name "/d80/dropout",                                     \
      BackwardDqConfig<mma, 80, true, least_head_dim(80)>)                                      \
  ROW(symbol##_d96,                    name "/d96",                                             \
      BackwardDqConfig<mma, 96, false, least_head_dim(96)>)                                     \
  ROW(symbol##_d96_dropout,            name "/d96/dropout",                                     \
      BackwardDqConfig<mma, 96, true, least_head_dim(96)>)                                      \
  ROW(symbol##_d256,                   name "/d256",                                            \
      BackwardDqConfig<mma, 256, false, least_head_dim(256)>)                                   \
  ROW(symbol##_d256_dropout,           name "/d256/dropout",                                    \
      BackwardDqConfig<mma, 256, true, least_head_dim(256)>)                                    \
  ROW(symbol##_d128_padded,            name "/d128/padded",                                     \
      BackwardDqConfig<mma, 128, false, least_head_dim(128)>)                                   \
  ROW(symbol##_d128_dropout_padded,    name "/d128/dropout/padded",                             \
      BackwardDqConfig<mma, 128, true, least_head_dim(128)>)

#define SPARK_VOLTA_SHORT_BACKWARD_DQ_OF(ROW, symbol, name, mma)                                \
  ROW(symbol##_bwd_dq_d64_short, name "/bwd-dq/d64/short", ShortBackwardDq<mma, false>)         \
  ROW(symbol##_bwd_dq_d64_dropout_short, name "/bwd-dq/d64/dropout/short",                      \
      ShortBackwardDq<mma, true>)

#define SPARK_VOLTA_BACKWARD_DQ(ROW)                                                            \
  SPARK_VOLTA_SHORT_BACKWARD_DQ_OF(ROW, volta_fp16acc, "volta-fp16acc", Accumulator::kFp16)     \
  SPARK_VOLTA_SHORT_BACKWARD_DQ_OF(ROW, volta_fp32acc, "volta-fp32acc", Accumulator::kFp32)     \
  SPARK_VOLTA_BACKWARD_DQ_OF(ROW, volta_fp16acc, "volta-fp16acc", Accumulator::kFp16)           \
  SPARK_VOLTA_BACKWARD_DQ_OF(ROW, volta_fp32acc, "volta-fp32acc", Accumulator::kFp32)

/// The same for patterns.
#define SPARK_VOLTA_SPARSE_BACKWARD_OF(ROW, symbol, name, mma, columns, dropout)                \
  ROW(symbol##_sparse, name "/sparse",                                                          \
      SparseBackward<BackwardConfig<mma, columns, dropout, true,                                \
                                    least_head_dim_of_64_kib(columns)>>)                        \
  ROW(symbol##_sparse_deterministic, name "/sparse/deterministic",                              \
      SparseBackward<BackwardConfig<mma, columns, dropout, false,                               \
                                    least_head_dim_of_64_kib(columns)>>)
#define SPARK_VOLTA_SPARSE_BACKWARD_OF_COLUMNS(ROW, symbol, name, mma, columns)                 \
  SPARK_VOLTA_SPARSE_BACKWARD_OF(ROW, symbol##_bwd_d##columns, name "/bwd/d" #columns, mma,     \
                                 columns, false)                                                \
  SPARK_VOLTA_SPARSE_BACKWARD_OF(ROW, symbol##_bwd_d##columns##_dropout,                        \
                                 name "/bwd/d" #columns "/dropout", mma, columns, true)
#define SPARK_VOLTA_SPARSE_BACKWARD_DQ_OF(ROW, symbol, name, mma, columns)                      \
  ROW(symbol##_bwd_dq_d##columns##_sparse, name "/bwd-dq/d" #columns "/sparse",                 \
      SparseBackwardDq<BackwardDqConfig<mma, columns, false, least_head_dim_of_64_kib(columns)>>)         \
  ROW(symbol##_bwd_dq_d##columns##_dropout_sparse, name "/bwd-dq/d" #columns "/dropout/sparse", \
      SparseBackwardDq<BackwardDqConfig<mma, columns, true, least_head_dim_of_64_kib(columns)>>)
#define SPARK_VOLTA_SPARSE_OF_COLUMNS(OF_COLUMNS, ROW, symbol, name, mma)                       \
  OF_COLUMNS(ROW, symbol, name, mma, 64)                                                        \
  OF_COLUMNS(ROW, symbol, name, mma, 128)                                                       \
  OF_COLUMNS(ROW, symbol, name, mma, 256)
#define SPARK_VOLTA_SPARSE_BACKWARD(ROW)                                                        \
  SPARK_VOLTA_SPARSE_OF_COLUMNS(SPARK_VOLTA_SPARSE_BACKWARD_OF_COLUMNS, ROW, volta_fp16acc,     \
                                "volta-fp16acc", Accumulator::kFp16)                            \
  SPARK_VOLTA_SPARSE_OF_COLUMNS(SPARK_VOLTA_SPARSE_BACKWARD_OF_COLUMNS, ROW, volta_fp32acc,     \
                                "volta-fp32acc", Accumulator::kFp32)
#define SPARK_VOLTA_SPARSE_BACKWARD_DQ(ROW)                                                     \
  SPARK_VOLTA_SPARSE_OF_COLUMNS(SPARK_VOLTA_SPARSE_BACKWARD_DQ_OF, ROW, volta_fp16acc,          \
                                "volta-fp16acc", Accumulator::kFp16)                            \
  SPARK_VOLTA_SPARSE_OF_COLUMNS(SPARK_VOLTA_SPARSE_BACKWARD_DQ_OF, ROW, volta_fp32acc,          \
                                "volta-fp32acc", Accumulator::kFp32)

/// The same for varlen.
#define SPARK_VOLTA_PACKED_BACKWARD_OF(ROW, symbol, name, mma, columns, dropout)                \
  ROW(symbol##_packed, name "/packed",                                                          \
      PackedBackward<BackwardConfig<mma, columns, dropout, true,                                \
                                    least_head_dim(columns)>>)                                  \
  ROW(symbol##_packed_deterministic, name "/packed/deterministic",                              \
      PackedBackward<BackwardConfig<mma, columns, dropout, false,                               \
                                    least_head_dim(columns)>>)
#define SPARK_VOLTA_PACKED_BACKWARD_OF_COLUMNS(ROW, symbol, name, mma, columns)                 \
  SPARK_VOLTA_PACKED_BACKWARD_OF(ROW, symbol##_bwd_d##columns, name "/bwd/d" #columns, mma,     \
                                 columns, false)                                                \
  SPARK_VOLTA_PACKED_BACKWARD_OF(ROW, symbol##_bwd_d##columns##_dropout,                        \
                                 name "/bwd/d" #columns "/dropout", mma, columns, true)
#define SPARK_VOLTA_PACKED_BACKWARD_DQ_OF(ROW, symbol, name, mma, columns)                      \
  ROW(symbol##_bwd_dq_d##columns##_packed, name "/bwd-dq/d" #columns "/packed",                 \
      Packed<BackwardDqConfig<mma, columns, false, least_head_dim(columns)>>)                   \
  ROW(symbol##_bwd_dq_d##columns##_dropout_packed, name "/bwd-dq/d" #columns "/dropout/packed", \
      Packed<BackwardDqConfig<mma, columns, true, least_head_dim(columns)>>)
#define SPARK_VOLTA_PACKED_OF_COLUMNS(OF_COLUMNS, ROW, symbol, name, mma)                       \
  OF_COLUMNS(ROW, symbol, name, mma, 32)                                                        \
  OF_COLUMNS(ROW, symbol, name, mma, 64)                                                        \
  OF_COLUMNS(ROW, symbol, name, mma, 80)                                                        \
  OF_COLUMNS(ROW, symbol, name, mma, 96)                                                        \
  OF_COLUMNS(ROW, symbol, name, mma, 128)                                                       \
  OF_COLUMNS(ROW, symbol, name, mma, 256)
#define SPARK_VOLTA_PACKED_BACKWARD(ROW)                                                        \
  SPARK_VOLTA_PACKED_OF_COLUMNS(SPARK_VOLTA_PACKED_BACKWARD_OF_COLUMNS, ROW, volta_fp16acc,     \
                                "volta-fp16acc", Accumulator::kFp16)                            \
  SPARK_VOLTA_PACKED_OF_COLUMNS(SPARK_VOLTA_PACKED_BACKWARD_OF_COLUMNS, ROW, volta_fp32acc,     \
                                "volta-fp32acc", Accumulator::kFp32)
#define SPARK_VOLTA_PACKED_BACKWARD_DQ(ROW)                                                     \
  SPARK_VOLTA_PACKED_OF_COLUMNS(SPARK_VOLTA_PACKED_BACKWARD_DQ_OF, ROW, volta_fp16acc,          \
                                "volta-fp16acc", Accumulator::kFp16)                            \
  SPARK_VOLTA_PACKED_OF_COLUMNS(SPARK_VOLTA_PACKED_BACKWARD_DQ_OF, ROW, volta_fp32acc,          \
                                "volta-fp32acc", Accumulator::kFp32)

#define SPARK_VOLTA_PACKED_ROWS_OF(ROW, symbol, name, Rows)                                     \
  ROW(volta_fp16acc_##symbol##_d64_packed,  "volta-fp16acc/" name "/d64/packed",                \
      Packed<Rows<Accumulator::kFp16, 64>>)                                                     \
  ROW(volta_fp16acc_##symbol##_d128_packed, "volta-fp16acc/" name "/d128/packed",               \
      Packed<Rows<Accumulator::kFp16, 128>>)                                                    \
  ROW(volta_fp16acc_##symbol##_d256_packed, "volta-fp16acc/" name "/d256/packed",               \
      Packed<Rows<Accumulator::kFp16, 256>>)                                                    \
  ROW(volta_fp32acc_##symbol##_d64_packed,  "volta-fp32acc/" name "/d64/packed",                \
      Packed<Rows<Accumulator::kFp32, 64>>)                                                     \
  ROW(volta_fp32acc_##symbol##_d128_packed, "volta-fp32acc/" name "/d128/packed",               \
      Packed<Rows<Accumulator::kFp32, 128>>)                                                    \
  ROW(volta_fp32acc_##symbol##_d256_packed, "volta-fp32acc/" name "/d256/packed",               \
      Packed<Rows<Accumulator::kFp32, 256>>)
#define SPARK_VOLTA_PACKED_STATISTICS(ROW)                                                      \
  SPARK_VOLTA_PACKED_ROWS_OF(ROW, bwd_statistics, "bwd-statistics", StatisticsConfig)
#define SPARK_VOLTA_PACKED_ROUND_DQ(ROW)                                                        \
  SPARK_VOLTA_PACKED_ROWS_OF(ROW, bwd_round_dq, "bwd-round-dq", RoundDqConfig)

#define SPARK_VOLTA_STATISTICS(ROW)                                                             \
  ROW(volta_fp16acc_bwd_statistics_d64,  "volta-fp16acc/bwd-statistics/d64",                    \
      StatisticsConfig<Accumulator::kFp16, 64>)                                                 \
  ROW(volta_fp16acc_bwd_statistics_d128, "volta-fp16acc/bwd-statistics/d128",                   \
      StatisticsConfig<Accumulator::kFp16, 128>)                                                \
  ROW(volta_fp16acc_bwd_statistics_d256, "volta-fp16acc/bwd-statistics/d256",                   \
      StatisticsConfig<Accumulator::kFp16, 256>)                                                \
  ROW(volta_fp32acc_bwd_statistics_d64,  "volta-fp32acc/bwd-statistics/d64",                    \
      StatisticsConfig<Accumulator::kFp32, 64>)                                                 \
  ROW(volta_fp32acc_bwd_statistics_d128, "volta-fp32acc/bwd-statistics/d128",                   \
      StatisticsConfig<Accumulator::kFp32, 128>)                                                \
  ROW(volta_fp32acc_bwd_statistics_d256, "volta-fp32acc/bwd-statistics/d256",                   \
      StatisticsConfig<Accumulator::kFp32, 256>)

#define SPARK_VOLTA_ROUND_DQ(ROW)                                                               \
  ROW(volta_fp16acc_bwd_round_dq_d64,  "volta-fp16acc/bwd-round-dq/d64",                        \
      RoundDqConfig<Accumulator::kFp16, 64>)                                                    \
  ROW(volta_fp16acc_bwd_round_dq_d128, "volta-fp16acc/bwd-round-dq/d128",                       \
      RoundDqConfig<Accumulator::kFp16, 128>)                                                   \
  ROW(volta_fp16acc_bwd_round_dq_d256, "volta-fp16acc/bwd-round-dq/d256",                       \
      RoundDqConfig<Accumulator::kFp16, 256>)                                                   \
  ROW(volta_fp32acc_bwd_round_dq_d64,  "volta-fp32acc/bwd-round-dq/d64",                        \
      RoundDqConfig<Accumulator::kFp32, 64>)                                                    \
  ROW(volta_fp32acc_bwd_round_dq_d128, "volta-fp32acc/bwd-round-dq/d128",                       \
      RoundDqConfig<Accumulator::kFp32, 128>)                                                   \
  ROW(volta_fp32acc_bwd_round_dq_d256, "volta-fp32acc/bwd-round-dq/d256",                       \
      RoundDqConfig<Accumulator::kFp32, 256>)
// clang-format on
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace sparkbench::volta
