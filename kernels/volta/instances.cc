#include "kernels/volta/instances.h"
#include "kernels/volta/instance_table.h"

namespace sparkbench::volta {
namespace {

/// P V in FP16 takes a lane's own scores as they are; in FP32 it exchanges pairs. Two lanes
/// exchange a word of the dropout mask, of 16 scores or more.
constexpr double data_shuffles(Accumulator accumulator, bool has_dropout) {
  return accumulator == Accumulator::kFp32 ? 2.0 : (has_dropout ? 0.5 : 0.0);
}

/// Random bytes are made by instructions that no product hides.
constexpr double least_cap(bool has_dropout) { return has_dropout ? 1.0 : 1.2; }

template <class Config>
constexpr KernelInstance forward(std::string_view symbol, std::string_view id) {
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
          .is_packed = Config::kIsPacked,
          .is_sparse = Config::kIsSparse,
          .products = 2,  // S, P V
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(ForwardTiles<Config>),
          .block_rows = Config::kBlockM,
          .step_columns = Config::kBlockN,
          .short_window = Config::kShortWindow,
          .has_halves = Config::kHasHalves,
          .seen_rows = Config::kSpreadsRows ? kGridRows : kWarpRows,
          .limits = {kBarriers, 64, data_shuffles(Config::kAccumulator, Config::kHasDropout),
                     least_cap(Config::kHasDropout)}};
}

/// Those of dQ, where lanes have its sums over half of the keys each (add_dq_of_key_halves).
template <class Config>
constexpr double dq_shuffles() {
  return Config::kHalvesKeysOfDq ? 8.0 * Config::kHeadDim / Config::kBlockKeys : 0.0;
}

template <class Config>
constexpr KernelInstance backward(std::string_view symbol, std::string_view id) {
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
          .is_packed = Config::kIsPacked,
          .is_sparse = Config::kIsSparse,
          .products = Config::kComputesDq ? 5 : 4,  // S, dP, dV, dK; dQ
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(BackwardTiles<Config>),
          .block_rows = Config::kBlockKeys,
          .step_columns = kColumns,
          .teams = Config::kTeams,
          .relays_dq = Config::kRelaysDq,
          .short_window = Config::kShortWindow,
          .halves_steps = Config::kHalvesSteps,
          .limits = {kBarriers, kColumns, kShuffles, least_cap(Config::kHasDropout)}};
}

template <class Config>
constexpr KernelInstance backward_dq(std::string_view symbol, std::string_view id) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Config::kAccumulator,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = Config::kHasDropout,
          .is_packed = Config::kIsPacked,
          .is_sparse = Config::kIsSparse,
          .products = 3,  // S, dP, dQ
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(BackwardDqTiles<Config>),
          .block_rows = Config::kBlockM,
          .step_columns = Config::kBlockN,
          .short_window = Config::kShortWindow,
          .limits = {4, Config::kBlockN, data_shuffles(Config::kAccumulator, Config::kHasDropout),
                     least_cap(Config::kHasDropout)}};
}

template <class Config>
constexpr KernelInstance rows(std::string_view symbol, std::string_view id, int shared_bytes) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Config::kAccumulator,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = false,
          .is_packed = Config::kIsPacked,
          .is_sparse = Config::kIsSparse,
          .products = 0,
          .threads = Config::kThreads,
          .dynamic_shared_bytes = shared_bytes,
          .block_rows = Config::kBlockM,
          .step_columns = 0,
          .limits = {}};
}

#define SPARK_FORWARD_ROW(symbol, id, ...) forward<__VA_ARGS__>(#symbol, id),
#define SPARK_BACKWARD_ROW(symbol, id, ...) backward<__VA_ARGS__>(#symbol, id),
#define SPARK_BACKWARD_DQ_ROW(symbol, id, ...) backward_dq<__VA_ARGS__>(#symbol, id),
#define SPARK_STATISTICS_ROW(symbol, id, ...) rows<__VA_ARGS__>(#symbol, id, 0),
#define SPARK_ROUND_DQ_ROW(symbol, id, ...) \
  rows<__VA_ARGS__>(#symbol, id, sizeof(RoundDqTiles<__VA_ARGS__>)),

constexpr KernelInstance kInstances[] = {
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
