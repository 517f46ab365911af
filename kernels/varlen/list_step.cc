#include "kernels/varlen/list_step.h"

#include "kernels/machine/emulated/machine.h"

namespace sparkbench {

#ifdef SPARKBENCH_HAS_CUDA
extern "C" void spark_list_blocks(WorkListsParams params);  // in work_lists_gpu.cu
#endif

namespace {

KernelInstance list_kernel() {
  KernelInstance kernel =
      shared_kernel("list-blocks", "spark_list_blocks", kListThreads, 0, sizeof(ListTiles),
                    [](EmulatedMachine& machine, const void* params) {
                      list_blocks(machine, *static_cast<const WorkListsParams*>(params));
                    });
#ifdef SPARKBENCH_HAS_CUDA
  kernel.function = reinterpret_cast<const void*>(spark_list_blocks);
#endif
  return kernel;
}

const KernelInstance kListBlocks = list_kernel();

void append_lengths(const char* name, const int* first, int batch, std::vector<MemoryPart>& parts) {
  parts.push_back({name, first, (static_cast<std::uint64_t>(batch) + 1) * sizeof(int)});
}

}  // namespace

MemoryPart items_of(const WorkListParams& list) {
  return {"work list", list.items, static_cast<std::uint64_t>(list.items_end) * sizeof(WorkItem)};
}

MemoryPart whole_list(const WorkListParams& list) {
  MemoryPart whole = items_of(list);
  whole.bytes += (static_cast<std::uint64_t>(list.batch) + 1) * sizeof(int);
  return whole;
}

std::vector<Step> list_steps(const WorkListParams& first, const WorkListParams& second) {
  WorkListsParams lists{};
  Step step;
  for (const WorkListParams* list : {&first, &second}) {
    if (list->items_end == 0) continue;
    lists.list[step.grid[0]++] = *list;
    step.writes.push_back(whole_list(*list));
  }
  if (step.grid[0] == 0) return {};
  const WorkListParams& any = lists.list[0];
  append_lengths("cu_seqlens_q", any.cu_seqlens_q, any.batch, step.reads);
  if (any.cu_seqlens_k != any.cu_seqlens_q) {
    append_lengths("cu_seqlens_k", any.cu_seqlens_k, any.batch, step.reads);
  }
  step.instance = &kListBlocks;
  step.grid[1] = step.grid[2] = 1;
  step.params = ParamBytes(lists);
  return {step};
}

}  // namespace sparkbench
