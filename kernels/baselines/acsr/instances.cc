#include "kernels/baselines/acsr/volta/instances.h"

#include "kernels/baselines/acsr/instance_table.h"
#include "kernels/baselines/acsr/softmax.h"
#include "kernels/baselines/acsr/softmax_gradient.h"
#include "kernels/baselines/acsr/volta/key_gradient.h"
#include "kernels/baselines/acsr/volta/output.h"
#include "kernels/baselines/acsr/volta/scores.h"
#include "kernels/launch/emulated_body.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench::acsr {

#ifdef SPARKBENCH_HAS_VOLTA
// The functions of volta/gpu.cu: a launch names them by their addresses here.
#define SPARK_DECLARE(symbol, id, ...) extern "C" void symbol(ChainParams params);
#define SPARK_DECLARE_GRADIENT(symbol, id, ...) \
  extern "C" void symbol(SoftmaxGradientParams params);
SPARK_ACSR_SCORES(SPARK_DECLARE)
SPARK_ACSR_SOFTMAX(SPARK_DECLARE)
SPARK_ACSR_OUTPUT(SPARK_DECLARE)
SPARK_ACSR_SOFTMAX_GRADIENT(SPARK_DECLARE_GRADIENT)
SPARK_ACSR_KEY_GRADIENT(SPARK_DECLARE)
#define SPARK_FUNCTION(symbol) reinterpret_cast<const void*>(symbol)
#else
#define SPARK_FUNCTION(symbol) nullptr
#endif

namespace {

SPARK_EMULATED_BODY(emulate_scores, compute_scores, ChainParams)
SPARK_EMULATED_BODY(emulate_softmax, normalize_rows, ChainParams)
SPARK_EMULATED_BODY(emulate_output, compute_output, ChainParams)
SPARK_EMULATED_BODY(emulate_softmax_gradient, differentiate_rows, SoftmaxGradientParams)
SPARK_EMULATED_BODY(emulate_key_gradient, compute_key_gradient, ChainParams)

/// This chain is memory-bound, so its loops have no cap.
constexpr CodeLimits kLimits = {.barriers = 2, .barrier_columns = kTileKeys, .cap = 0.0};

/// Softmax, or its gradient.
template <class Config>
KernelInstance rows(std::string_view symbol, std::string_view id, const void* function,
                    EmulatedBody* emulate) {
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
          .limits = {},
          .emulate = emulate,
          .function = function};
}

template <class Config, class Tiles>
KernelInstance product(std::string_view symbol, std::string_view id, const void* function,
                       EmulatedBody* emulate) {
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
          .limits = kLimits,
          .emulate = emulate,
          .function = function};
}

/// A kernel whose blocks own keys, and visit rows.
template <class Config>
KernelInstance key_product(std::string_view symbol, std::string_view id, const void* function) {
  KernelInstance of =
      product<Config, KeyGradientTiles<Config>>(symbol, id, function, emulate_key_gradient<Config>);
  of.block_rows = kBlockPlaces;
  of.step_columns = kTileRows;
  return of;
}

#define SPARK_SCORES_ROW(symbol, id, ...)                                             \
  product<__VA_ARGS__, ScoresTiles<__VA_ARGS__>>(#symbol, id, SPARK_FUNCTION(symbol), \
                                                 emulate_scores<__VA_ARGS__>),
#define SPARK_SOFTMAX_ROW(symbol, id, ...) \
  rows<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol), emulate_softmax<__VA_ARGS__>),
#define SPARK_OUTPUT_ROW(symbol, id, ...)                                             \
  product<__VA_ARGS__, OutputTiles<__VA_ARGS__>>(#symbol, id, SPARK_FUNCTION(symbol), \
                                                 emulate_output<__VA_ARGS__>),
#define SPARK_SOFTMAX_GRADIENT_ROW(symbol, id, ...) \
  rows<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol), emulate_softmax_gradient<__VA_ARGS__>),
#define SPARK_KEY_GRADIENT_ROW(symbol, id, ...) \
  key_product<__VA_ARGS__>(#symbol, id, SPARK_FUNCTION(symbol)),

const KernelInstance kInstances[] = {
    SPARK_ACSR_SCORES(SPARK_SCORES_ROW)                      //
    SPARK_ACSR_SOFTMAX(SPARK_SOFTMAX_ROW)                    //
    SPARK_ACSR_OUTPUT(SPARK_OUTPUT_ROW)                      //
    SPARK_ACSR_SOFTMAX_GRADIENT(SPARK_SOFTMAX_GRADIENT_ROW)  //
    SPARK_ACSR_KEY_GRADIENT(SPARK_KEY_GRADIENT_ROW)          //
};

}  // namespace

std::span<const KernelInstance> instances() { return kInstances; }

}  // namespace sparkbench::acsr
