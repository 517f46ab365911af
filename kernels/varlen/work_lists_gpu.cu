#include "kernels/machine/cuda_check.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/varlen/work_lists_gpu.h"

namespace sparkbench {

extern "C" __global__ void __launch_bounds__(kListThreads)
    spark_list_blocks(const WorkListsParams params) {
  GpuMachine machine;
  list_blocks(machine, params);
}

void launch_lists(const WorkListParams& first, const WorkListParams& second, CUstream_st* stream) {
  WorkListsParams lists{};
  unsigned count = 0;
  for (const WorkListParams* list : {&first, &second}) {
    if (list->items_end > 0) lists.list[count++] = *list;
  }
  if (count == 0) return;
  spark_list_blocks<<<count, kListThreads, sizeof(ListTiles), stream>>>(lists);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
