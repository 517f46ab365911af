#include "kernels/baselines/acsr/volta/instances.h"

#include "kernels/baselines/acsr/instance_table.h"

namespace sparkbench::acsr {
namespace {

/// This chain is memory-bound, so its loops have no cap.
constexpr CodeLimits kLimits = {.barriers = 2, .barrier_columns = kTileKeys, .cap = 0.0};

/// Softmax, or its gradient.
template <class Config>
constexpr KernelInstance softmax(std::string_view symbol, std::string_view id) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Accumulator::kFp32,
          .head_dim = kMostHeadDim,
          .least_head_dim = 8,
          .has_dropout = false,
          .blocks = BlockSource::kBlockSparse,
          .products = 0,
          .threads = Config::kThreads,
          .dynamic_shared_bytes = 0,
          .block_rows = Config::kRows,
          .step_columns = 0,
          .limits = {}};
}

template <class Config, class Tiles>
constexpr KernelInstance product(std::string_view symbol, std::string_view id) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Accumulator::kFp32,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = false,
          .blocks = BlockSource::kBlockSparse,
          .products = 1,
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(Tiles),
          .block_rows = kBlockRows,
          .step_columns = kTileKeys,
          .limits = kLimits};
}

/// A kernel whose blocks own keys, and visit rows.
template <class Config, class Tiles>
constexpr KernelInstance key_product(std::string_view symbol, std::string_view id) {
  KernelInstance of = product<Config, Tiles>(symbol, id);
  of.block_rows = kBlockPlaces;
  of.step_columns = kTileRows;
  return of;
}

#define SPARK_SCORES_ROW(symbol, id, ...) \
  product<__VA_ARGS__, ScoresTiles<__VA_ARGS__>>(#symbol, id),
#define SPARK_SOFTMAX_ROW(symbol, id, ...) softmax<__VA_ARGS__>(#symbol, id),
#define SPARK_OUTPUT_ROW(symbol, id, ...) \
  product<__VA_ARGS__, OutputTiles<__VA_ARGS__>>(#symbol, id),
#define SPARK_KEY_GRADIENT_ROW(symbol, id, ...) \
  key_product<__VA_ARGS__, KeyGradientTiles<__VA_ARGS__>>(#symbol, id),

constexpr KernelInstance kInstances[] = {
    SPARK_ACSR_SCORES(SPARK_SCORES_ROW)              //
    SPARK_ACSR_SOFTMAX(SPARK_SOFTMAX_ROW)            //
    SPARK_ACSR_OUTPUT(SPARK_OUTPUT_ROW)              //
    SPARK_ACSR_SOFTMAX_GRADIENT(SPARK_SOFTMAX_ROW)   //
    SPARK_ACSR_KEY_GRADIENT(SPARK_KEY_GRADIENT_ROW)  //
};

}  // namespace

std::span<const KernelInstance> instances() { return kInstances; }

}  // namespace sparkbench::acsr
