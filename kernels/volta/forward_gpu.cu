#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward_gpu.h"
#include "kernels/volta/schedules.h"

namespace sparkbench::volta {
namespace {

/// The compiled kernel of a row.
template <class Config>
struct KernelOf;

}  // namespace

#define SPARK_ROW(symbol, id, ...)                                            \
  using symbol##_config = __VA_ARGS__;                                        \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,     \
                                               symbol##_config::kBlocksPerSm) \
      symbol(const ForwardParams params) {                                    \
    GpuMachine machine;                                                       \
    attention_forward<symbol##_config>(machine, params);                      \
  }                                                                           \
  template <>                                                                 \
  struct KernelOf<symbol##_config> {                                          \
    static constexpr auto kFunction = symbol;                                 \
  };
SPARK_VOLTA_FORWARD(SPARK_ROW)
#undef SPARK_ROW

namespace {

template <class Config>
void launch(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream) {
  constexpr int kSharedBytes = sizeof(ForwardTiles<Config>);
  const auto kernel = KernelOf<Config>::kFunction;
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  const dim3 grid(static_cast<unsigned>(ceil_divide(problem.seqlen_q, Config::kBlockM)),
                  static_cast<unsigned>(problem.heads), static_cast<unsigned>(problem.batch));
  kernel<<<grid, Config::kThreads, kSharedBytes, stream>>>(forward_params(problem, tensors));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_forward(ForwardAccumulators accumulators, const Problem& problem,
                    const ForwardTensors& tensors, CUstream_st* stream) {
  visit_forward(accumulators, {problem, shared_bytes_per_block()},
                [&](auto row, auto /*id*/) { launch<decltype(row)>(problem, tensors, stream); });
}

}  // namespace sparkbench::volta
