// From a row of instances.h to a compiled kernel, and to its launch.
#pragma once

#include "kernels/hopper/instances.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::hopper {

/// The compiled kernel of a row's configuration.
template <class Config>
struct KernelOf;

/// Compiles body<Config>(machine, params) as `symbol`. At namespace scope.
#define SPARK_HOPPER_KERNEL(body, Params, symbol, ...)                        \
  using symbol##_config = __VA_ARGS__;                                        \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,     \
                                               symbol##_config::kBlocksPerSm) \
      symbol(const __grid_constant__ Params params) {                         \
    GpuMachine machine;                                                       \
    body<symbol##_config>(machine, params);                                   \
  }                                                                           \
  template <>                                                                 \
  struct KernelOf<symbol##_config> {                                          \
    static constexpr auto kFunction = symbol;                                 \
  };
#define SPARK_HOPPER_FORWARD_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_forward, LaunchParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_CARRIED_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward_carried, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_DQ_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward_dq, BackwardParams, symbol, __VA_ARGS__)

inline dim3 grid_of(int x, int y, int z) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

/// How many SMs the current device has.
inline int count_sms() {
  int device = 0, sms = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  return sms;
}

/// How many blocks a launch has for its items.
enum class Items {
  kOneABlock,  // items differ: the next goes to whichever SM is free
  kOfAllSms,   // as many as the GPU holds at once
};
template <class Config>
ItemGrid items_of(int x, int y, int z, Items items, ItemOrder order = ItemOrder::kRowsFirst) {
  ItemGrid grid{{x, y, z}, x * y * z, order};
  if (items == Items::kOneABlock) return grid;
  grid.blocks = least_of(grid.blocks, count_sms() * Config::kBlocksPerSm);
  return grid;
}

/// Work items for `runs` runs of each head: the same tokens of all heads at a time, so that a DRAM
/// page is read at once.
template <class Config>
ItemGrid items_of_runs(int runs, int heads, int batch) {
  return items_of<Config>(runs, heads, batch, Items::kOfAllSms, ItemOrder::kHeadsFirst);
}

/// Launches a row's kernel.
template <class Config, class Params>
void launch(const Params& params, const dim3& grid, CUstream_st* stream) {
  const auto kernel = KernelOf<Config>::kFunction;
  constexpr std::size_t kSharedBytes = sizeof(typename Config::Tiles);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(kSharedBytes)));
  kernel<<<grid, Config::kThreads, kSharedBytes, stream>>>(params);
  CUDA_CHECK(cudaGetLastError());
}

/// The same over work items.
template <class Config, class Params>
void launch_items(Params& params, const ItemGrid& grid, CUstream_st* stream) {
  if (grid.blocks == 0) return;
  params.grid = grid;
  launch<Config>(params, grid_of(grid.blocks, 1, 1), stream);
}

/// The same over a varlen work list, longest first, for so many heads.
template <class Config, class Params>
void launch_list(Params& params, int heads, int items, CUstream_st* stream) {
  const auto grid = packed_grid(heads, items);
  launch_items<Config>(params, items_of<Config>(grid[0], grid[1], grid[2], Items::kOfAllSms),
                       stream);
}

}  // namespace sparkbench::hopper
