#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/merge_gpu.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench {

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_merge_passes(const MergeParams params) {
  GpuMachine machine;
  merge_passes(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_gather_lse(const GatherParams params) {
  GpuMachine machine;
  gather_lse(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_sum_gradients(const SumParams params) {
  GpuMachine machine;
  sum_gradients(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_merge_parts(const MergePartsParams params) {
  GpuMachine machine;
  merge_parts(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_sum_parts(const SumPartsParams params) {
  GpuMachine machine;
  sum_parts(machine, params);
}

namespace {

template <class Params>
void launch(void (*kernel)(Params), const Params& params, int blocks, int heads, int batch,
            CUstream_st* stream) {
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(heads),
                  static_cast<unsigned>(batch));
  kernel<<<grid, kMergeThreads, 0, stream>>>(params);
  CUDA_CHECK(cudaGetLastError());
}

/// Each head's rows by themselves, so many of them a block.
template <class Params>
void launch_rows(void (*kernel)(Params), const Params& params, const RowsOfHeads& rows,
                 int rows_of_block, CUstream_st* stream) {
  launch(kernel, params, ceil_divide(rows.seqlen, rows_of_block), rows.heads, rows.batch, stream);
}

template <class Params>
void launch_merge(void (*kernel)(Params), const Params& params, const RowsOfHeads& rows,
                  CUstream_st* stream) {
  launch(kernel, params, MergeBlocks{rows.heads}.count(rows.seqlen), 1, rows.batch, stream);
}

}  // namespace

void launch_merge_passes(const MergeParams& params, const RowsOfHeads& rows, CUstream_st* stream) {
  launch_merge(spark_merge_passes, params, rows, stream);
}

void launch_gather_lse(const GatherParams& params, const RowsOfHeads& rows, CUstream_st* stream) {
  launch_rows(spark_gather_lse, params, rows, kMergeThreads, stream);
}

void launch_sum_gradients(const SumParams& params, const RowsOfHeads& rows, CUstream_st* stream) {
  launch_merge(spark_sum_gradients, params, rows, stream);
}

void launch_merge_parts(const MergePartsParams& params, const RowsOfHeads& rows,
                        CUstream_st* stream) {
  launch_rows(spark_merge_parts, params, rows, kMergeRows, stream);
}

void launch_sum_parts(const SumPartsParams& params, const RowsOfHeads& rows, CUstream_st* stream) {
  launch_rows(spark_sum_parts, params, rows, kMergeRows, stream);
}

}  // namespace sparkbench
