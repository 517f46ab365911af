#include "kernels/volta/instances.h"
#include "kernels/tile/forward_params.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/emulated_kernels.h"
#include "kernels/volta/instance_table.h"

namespace sparkbench::volta {

#ifdef SPARKBENCH_HAS_VOLTA
// The functions of the .cu files: a launch names them by their addresses here.
#define SPARK_DECLARE_FORWARD(symbol, id, ...) extern "C" void symbol(ForwardParams params);
#define SPARK_DECLARE_BACKWARD(symbol, id, ...) extern "C" void symbol(BackwardParams params);
SPARK_VOLTA_FORWARD(SPARK_DECLARE_FORWARD)
SPARK_VOLTA_BACKWARD(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_BACKWARD_RELAY(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_BACKWARD_DQ(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_STATISTICS(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_ROUND_DQ(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_PACKED_FORWARD(SPARK_DECLARE_FORWARD)
SPARK_VOLTA_PACKED_BACKWARD(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_PACKED_BACKWARD_DQ(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_PACKED_STATISTICS(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_PACKED_ROUND_DQ(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_SPARSE_FORWARD(SPARK_DECLARE_FORWARD)
SPARK_VOLTA_SPARSE_BACKWARD(SPARK_DECLARE_BACKWARD)
SPARK_VOLTA_SPARSE_BACKWARD_DQ(SPARK_DECLARE_BACKWARD)
#define SPARK_FUNCTION(symbol) reinterpret_cast<const void*>(symbol)
#else
#define SPARK_FUNCTION(symbol) nullptr
#endif

namespace {

/// P V in FP16 takes a lane's own scores as they are; in FP32 it exchanges pairs. Two lanes
/// exchange a word of the dropout mask, of 16 scores or more.
constexpr double data_shuffles(Accumulator accumulator, bool has_dropout) {
  return accumulator == Accumulator::kFp32 ? 2.0 : (has_dropout ? 0.5 : 0.0);
}

/// Random bytes are made by instructions that no product hides.
constexpr double least_cap(bool has_dropout) { return has_dropout ? 1.0 : 1.2; }

template <class Config>
KernelInstance forward(std::string_view symbol, std::string_view id, const void* function) {
  // The block's four, one for each piece of a tile, and of a pair of warps five more.
  constexpr int kBarriers = Config::kLoop != KeyLoop::kPieces ? 2
                            : Config::kColumnWarps > 1        ? 9
                                                              : 4;
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Config::kAccumulator,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = Config::kHasDropout,
          .blocks = Config::Walk::kBlocks,
          .products = 2,  // S, P V
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(ForwardTiles<Config>),
          .block_rows = Config::kBlockM,
          .step_columns = Config::kBlockN,
          .short_window = Config::kShortWindow,
          .has_halves = Config::kHasHalves,
          .seen_rows = Config::kSpreadsRows ? kGridRows : kWarpRows,
          .limits = {kBarriers, 64, data_shuffles(Config::kAccumulator, Config::kHasDropout),
                     least_cap(Config::kHasDropout)},
          .emulate = emulate_forward_thread<Config>,
          .function = function};
}

/// Those of dQ, where lanes have its sums over half of the keys each (add_dq_of_key_halves).
template <class Config>
constexpr double dq_shuffles() {
  return Config::kHalvesKeysOfDq ? 8.0 * Config::kHeadDim / Config::kBlockKeys : 0.0;
}

template <class Config>
KernelInstance backward(std::string_view symbol, std::string_view id, const void* function) {
  constexpr int kColumns = Config::kStep * Config::kTeams;
  constexpr int kBarriers = Config::kBorrowsValues ? 5 : 4;  // one before V's place is borrowed
  constexpr double kShuffles =
      data_shuffles(Config::kAccumulator, Config::kHasDropout) + dq_shuffles<Config>();
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Config::kAccumulator,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = Config::kHasDropout,
          .blocks = Config::Walk::kBlocks,
          .products = Config::kComputesDq ? 5 : 4,  // S, dP, dV, dK; dQ
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(BackwardTiles<Config>),
          .block_rows = Config::kBlockKeys,
          .step_columns = kColumns,
          .teams = Config::kTeams,
          .relays_dq = Config::kRelaysDq,
          .short_window = Config::kShortWindow,
          .halves_steps = Config::kHalvesSteps,
          .limits = {kBarriers, kColumns, kShuffles, least_cap(Config::kHasDropout)},
          .emulate = emulate_backward_thread<Config>,
          .function = function};
}

template <class Config>
KernelInstance backward_dq(std::string_view symbol, std::string_view id, const void* function) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Config::kAccumulator,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = Config::kHasDropout,
          .blocks = Config::Walk::kBlocks,
          .products = 3,  // S, dP, dQ
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(BackwardDqTiles<Config>),
          .block_rows = Config::kBlockM,
          .step_columns = Config::kBlockN,
          .short_window = Config::kShortWindow,
          .limits = {4, Config::kBlockN, data_shuffles(Config::kAccumulator, Config::kHasDropout),
                     least_cap(Config::kHasDropout)},
          .emulate = emulate_backward_dq_thread<Config>,
          .function = function};
}

template <class Config>
KernelInstance rows(std::string_view symbol, std::string_view id, const void* function,
                    int shared_bytes, EmulatedBody* emulate) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Config::kAccumulator,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = false,
          .blocks = Config::Walk::kBlocks,
          .products = 0,
          .threads = Config::kThreads,
          .dynamic_shared_bytes = shared_bytes,
          .block_rows = Config::kBlockM,
          .step_columns = 0,
          .limits = {},
          .emulate = emulate,
          .function = function};
}

#define SPARK_FORWARD_ROW(symbol, id, ...) \
  forward<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol)),
#define SPARK_BACKWARD_ROW(symbol, id, ...) \
  backward<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol)),
#define SPARK_BACKWARD_DQ_ROW(symbol, id, ...) \
  backward_dq<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol)),
#define SPARK_STATISTICS_ROW(symbol, id, ...) \
  rows<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol), 0, emulate_statistics_thread<__VA_ARGS__>),
#define SPARK_ROUND_DQ_ROW(symbol, id, ...)                                                 \
  rows<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol), sizeof(RoundDqTiles<__VA_ARGS__>), \
                    emulate_round_dq_thread<__VA_ARGS__>),

const KernelInstance kInstances[] = {
    SPARK_VOLTA_FORWARD(SPARK_FORWARD_ROW)                 //
    SPARK_VOLTA_BACKWARD(SPARK_BACKWARD_ROW)               //
    SPARK_VOLTA_BACKWARD_RELAY(SPARK_BACKWARD_ROW)         //
    SPARK_VOLTA_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)         //
    SPARK_VOLTA_STATISTICS(SPARK_STATISTICS_ROW)           //
    SPARK_VOLTA_ROUND_DQ(SPARK_ROUND_DQ_ROW)               //
    SPARK_VOLTA_PACKED_FORWARD(SPARK_FORWARD_ROW)          //
    SPARK_VOLTA_PACKED_BACKWARD(SPARK_BACKWARD_ROW)        //
    SPARK_VOLTA_PACKED_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)  //
    SPARK_VOLTA_PACKED_STATISTICS(SPARK_STATISTICS_ROW)    //
    SPARK_VOLTA_PACKED_ROUND_DQ(SPARK_ROUND_DQ_ROW)        //
    SPARK_VOLTA_SPARSE_FORWARD(SPARK_FORWARD_ROW)          //
    SPARK_VOLTA_SPARSE_BACKWARD(SPARK_BACKWARD_ROW)        //
    SPARK_VOLTA_SPARSE_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)  //
};

}  // namespace

std::span<const KernelInstance> instances() { return kInstances; }

}  // namespace sparkbench::volta
