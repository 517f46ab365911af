#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/volta/backward.h"
#include "kernels/volta/backward_dq.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/backward_rows.h"
#include "kernels/volta/backward_workspace.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench::volta {
namespace {

/// The compiled kernel of a row.
template <class Config>
struct KernelOf;

}  // namespace

#define SPARK_KERNEL_OF(symbol)               \
  template <>                                 \
  struct KernelOf<symbol##_config> {          \
    static constexpr auto kFunction = symbol; \
  };

#define SPARK_ROW(symbol, id, ...)                                            \
  using symbol##_config = __VA_ARGS__;                                        \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,     \
                                               symbol##_config::kBlocksPerSm) \
      symbol(const BackwardParams params) {                                   \
    GpuMachine machine;                                                       \
    attention_backward<symbol##_config>(machine, params);                     \
  }                                                                           \
  SPARK_KERNEL_OF(symbol)
SPARK_VOLTA_BACKWARD(SPARK_ROW)
#undef SPARK_ROW

#define SPARK_ROW(symbol, id, ...)                                            \
  using symbol##_config = __VA_ARGS__;                                        \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,     \
                                               symbol##_config::kBlocksPerSm) \
      symbol(const BackwardParams params) {                                   \
    GpuMachine machine;                                                       \
    attention_backward_dq<symbol##_config>(machine, params);                  \
  }                                                                           \
  SPARK_KERNEL_OF(symbol)
SPARK_VOLTA_BACKWARD_DQ(SPARK_ROW)
#undef SPARK_ROW

#define SPARK_ROW(symbol, id, ...)                                                                 \
  using symbol##_config = __VA_ARGS__;                                                             \
  extern "C" __global__ void __launch_bounds__(kRowThreads) symbol(const BackwardParams params) {  \
    GpuMachine machine;                                                                            \
    prepare_statistics<symbol##_config::kAccumulator, symbol##_config::kHeadDim>(machine, params); \
  }                                                                                                \
  SPARK_KERNEL_OF(symbol)
SPARK_VOLTA_STATISTICS(SPARK_ROW)
#undef SPARK_ROW

#define SPARK_ROW(symbol, id, ...)                                                                \
  using symbol##_config = __VA_ARGS__;                                                            \
  extern "C" __global__ void __launch_bounds__(kRowThreads) symbol(const BackwardParams params) { \
    GpuMachine machine;                                                                           \
    round_dq<symbol##_config::kAccumulator, symbol##_config::kHeadDim>(machine, params);          \
  }                                                                                               \
  SPARK_KERNEL_OF(symbol)
SPARK_VOLTA_ROUND_DQ(SPARK_ROW)
#undef SPARK_ROW
#undef SPARK_KERNEL_OF

namespace {

/// A launch's place: the problem's heads and batch entries are grid axes y and z.
struct Launch {
  const Problem& problem;
  const BackwardParams& params;
  CUstream_st* stream;

  template <class Config>
  void operator()(Config /*row*/, int blocks, int threads, int shared_bytes) const {
    const auto kernel = KernelOf<Config>::kFunction;
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(problem.heads),
                    static_cast<unsigned>(problem.batch));
    kernel<<<grid, threads, shared_bytes, stream>>>(params);
    CUDA_CHECK(cudaGetLastError());
  }
};

}  // namespace

void launch_backward(Accumulator accumulator, const Problem& problem,
                     const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                     CUstream_st* stream) {
  const BackwardParams params =
      backward_params(problem, tensors, lay_out_workspace(problem, workspace, is_deterministic));
  const Launch launch{problem, params, stream};
  const Wanted wanted{problem, shared_bytes_per_block()};
  visit_statistics(accumulator, wanted, [&](auto row, auto /*id*/) {
    launch(row, workspace_rows(problem.seqlen_q) / kRowsPerBlock, kRowThreads, 0);
  });
  if (!is_deterministic) {
    CUDA_CHECK(cudaMemsetAsync(params.workspace.dq_sums, 0,
                               dq_sums_bytes(problem, is_deterministic), stream));
  }
  visit_backward(accumulator, !is_deterministic, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch(row, ceil_divide(problem.seqlen_k, Config::kBlockKeys), Config::kThreads,
           sizeof(BackwardTiles<Config>));
  });
  if (is_deterministic) {
    visit_backward_dq(accumulator, wanted, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      launch(row, ceil_divide(problem.seqlen_q, Config::kBlockM), Config::kThreads,
             sizeof(BackwardDqTiles<Config>));
    });
  } else {
    visit_round_dq(accumulator, wanted, [&](auto row, auto /*id*/) {
      launch(row, ceil_divide(problem.seqlen_q, kRowsPerBlock), kRowThreads,
             sizeof(RoundDqTiles<decltype(row)::kHeadDim>));
    });
  }
}

}  // namespace sparkbench::volta
