#include "kernels/hopper/instances.h"

#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/emulated_kernels.h"
#include "kernels/hopper/instance_table.h"

namespace sparkbench::hopper {

#ifdef SPARKBENCH_HAS_HOPPER
// The functions of the .cu files: a launch names them by their addresses here.
#define SPARK_DECLARE_FORWARD(symbol, id, ...) extern "C" void symbol(LaunchParams params);
#define SPARK_DECLARE_BACKWARD(symbol, id, ...) extern "C" void symbol(BackwardParams params);
SPARK_HOPPER_FORWARD(SPARK_DECLARE_FORWARD)
SPARK_HOPPER_RUNS_FORWARD(SPARK_DECLARE_FORWARD)
SPARK_HOPPER_SPARSE_FORWARD(SPARK_DECLARE_FORWARD)
SPARK_HOPPER_PACKED_FORWARD(SPARK_DECLARE_FORWARD)
SPARK_HOPPER_BACKWARD(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_BACKWARD_SUMS(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_BACKWARD_CARRIED(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_BACKWARD_DQ(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_SPARSE_BACKWARD(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_SPARSE_BACKWARD_DQ(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_PACKED_BACKWARD(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_PACKED_BACKWARD_SUMS(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_PACKED_BACKWARD_DQ(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_STATISTICS(SPARK_DECLARE_BACKWARD)
SPARK_HOPPER_ROUND_DQ(SPARK_DECLARE_BACKWARD)
#define SPARK_FUNCTION(symbol) reinterpret_cast<const void*>(symbol)
#else
#define SPARK_FUNCTION(symbol) nullptr
#endif

// libspark_attention emulates only a V100: to compile these kernels for the emulated machine would
// take as long as the rest of the library.
#ifdef SPARKBENCH_EMULATES_HOPPER
#define SPARK_BODY(...) __VA_ARGS__
#else
#define SPARK_BODY(...) nullptr
#endif

namespace {

constexpr int kMostColumns = 256;  // of a tile

/// `rows` of a block of the score matrix, which it goes over in steps of so many columns, by so
/// many products.
template <class Config>
KernelInstance instance(std::string_view symbol, std::string_view id, const void* function,
                        EmulatedBody* emulate, int rows, int step_columns, int products) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kWgmma,
          .accumulator = Accumulator::kFp32,
          .element = Config::Element::kType,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = Config::kHasDropout,
          .blocks = Config::Walk::kBlocks,
          .products = products,
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(typename Config::Tiles),
          .block_rows = rows,
          .step_columns = step_columns,
          .has_runs = Config::kHasRuns,
          .most_visits = Config::kMostVisits,
          .most_tiles = Config::kMostTiles,
          .blocks_per_sm = Config::kBlocksPerSm,
          .seen_rows = kWarpgroupRows,
          .limits = {},
          .emulate = emulate,
          .function = function};
}

/// An instance without products, for any head_dim.
template <class Config>
KernelInstance row_instance(std::string_view symbol, std::string_view id, const void* function,
                            EmulatedBody* emulate) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kWgmma,
          .accumulator = Accumulator::kFp32,
          .element = Config::Element::kType,
          .head_dim = kMostColumns,
          .least_head_dim = kChunkHalves,
          .has_dropout = false,
          .blocks = BlockSource::kDense,
          .products = 0,
          .threads = Config::kThreads,
          .dynamic_shared_bytes = 0,
          .block_rows = Config::kBlockM,
          .step_columns = 0,
          .limits = {},
          .emulate = emulate,
          .function = function};
}

// S, P V
#define SPARK_FORWARD_ROW(symbol, id, ...)                                                     \
  instance<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol),                                   \
                        SPARK_BODY(emulate_forward_thread<__VA_ARGS__>), __VA_ARGS__::kBlockM, \
                        __VA_ARGS__::kBlockN, 2),
// S, dP, dV, dK
#define SPARK_BACKWARD_ROW(symbol, id, ...)                                                        \
  instance<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol),                                       \
                        SPARK_BODY(emulate_backward_thread<__VA_ARGS__>), __VA_ARGS__::kBlockKeys, \
                        __VA_ARGS__::kStep, 4),
// S, dP, dV, dK, dQ
#define SPARK_BACKWARD_SUMS_ROW(symbol, id, ...)                                                   \
  instance<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol),                                       \
                        SPARK_BODY(emulate_backward_thread<__VA_ARGS__>), __VA_ARGS__::kBlockKeys, \
                        __VA_ARGS__::kStep, 5),
#define SPARK_BACKWARD_CARRIED_ROW(symbol, id, ...)                               \
  instance<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol),                      \
                        SPARK_BODY(emulate_backward_carried_thread<__VA_ARGS__>), \
                        __VA_ARGS__::kBlockKeys, __VA_ARGS__::kStep, 5),
// S, dP, dQ
#define SPARK_BACKWARD_DQ_ROW(symbol, id, ...)                                                     \
  instance<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol),                                       \
                        SPARK_BODY(emulate_backward_dq_thread<__VA_ARGS__>), __VA_ARGS__::kBlockM, \
                        __VA_ARGS__::kBlockN, 3),
#define SPARK_STATISTICS_ROW(symbol, id, ...)                    \
  row_instance<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol), \
                            SPARK_BODY(emulate_statistics_thread<__VA_ARGS__>)),
#define SPARK_ROUND_DQ_ROW(symbol, id, ...)                      \
  row_instance<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol), \
                            SPARK_BODY(emulate_round_dq_thread<__VA_ARGS__>)),
const KernelInstance kInstances[] = {
    SPARK_HOPPER_FORWARD(SPARK_FORWARD_ROW)                     //
    SPARK_HOPPER_RUNS_FORWARD(SPARK_FORWARD_ROW)                //
    SPARK_HOPPER_BACKWARD_SUMS(SPARK_BACKWARD_SUMS_ROW)         //
    SPARK_HOPPER_BACKWARD_CARRIED(SPARK_BACKWARD_CARRIED_ROW)   //
    SPARK_HOPPER_BACKWARD(SPARK_BACKWARD_ROW)                   //
    SPARK_HOPPER_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)             //
    SPARK_HOPPER_SPARSE_FORWARD(SPARK_FORWARD_ROW)              //
    SPARK_HOPPER_SPARSE_BACKWARD(SPARK_BACKWARD_ROW)            //
    SPARK_HOPPER_SPARSE_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)      //
    SPARK_HOPPER_PACKED_FORWARD(SPARK_FORWARD_ROW)              //
    SPARK_HOPPER_PACKED_BACKWARD_SUMS(SPARK_BACKWARD_SUMS_ROW)  //
    SPARK_HOPPER_PACKED_BACKWARD(SPARK_BACKWARD_ROW)            //
    SPARK_HOPPER_PACKED_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)      //
    SPARK_HOPPER_STATISTICS(SPARK_STATISTICS_ROW)               //
    SPARK_HOPPER_ROUND_DQ(SPARK_ROUND_DQ_ROW)                   //
};

}  // namespace

std::span<const KernelInstance> instances() { return kInstances; }

}  // namespace sparkbench::hopper
