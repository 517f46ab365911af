#include "kernels/block_sparse/merge_steps.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/ceil_divide.h"
#include "kernels/launch/serving_instance.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench {

#ifdef SPARKBENCH_HAS_CUDA
// In merge_gpu.cu.
extern "C" {
void spark_merge_passes(MergeParams params);
void spark_gather_lse(GatherParams params);
void spark_sum_gradients(SumParams params);
void spark_merge_parts(MergePartsParams params);
void spark_sum_parts(SumPartsParams params);
}
#endif

namespace {

template <class Params, void (*kBody)(EmulatedMachine&, const Params&)>
KernelInstance kernel(std::string_view id, ElementType element, std::string_view symbol,
                      int block_rows, [[maybe_unused]] void (*function)(Params)) {
  KernelInstance made = shared_kernel(id, symbol, kMergeThreads, block_rows, 0,
                                      [](EmulatedMachine& machine, const void* params) {
                                        kBody(machine, *static_cast<const Params*>(params));
                                      });
  made.element = element;
  made.function = reinterpret_cast<const void*>(function);
  return made;
}

#ifdef SPARKBENCH_HAS_CUDA
#define SPARK_FUNCTION(symbol) symbol
#else
#define SPARK_FUNCTION(symbol) nullptr
#endif

const KernelInstance kKernels[] = {
    kernel<MergeParams, merge_passes<Half, EmulatedMachine>>("merge-passes", ElementType::kFp16,
                                                             "spark_merge_passes", kMergeRows,
                                                             SPARK_FUNCTION(spark_merge_passes)),
    kernel<GatherParams, gather_lse<EmulatedMachine>>("gather-lse", ElementType::kFp16,
                                                      "spark_gather_lse", kMergeThreads,
                                                      SPARK_FUNCTION(spark_gather_lse)),
    kernel<SumParams, sum_gradients<Half, EmulatedMachine>>("sum-gradients", ElementType::kFp16,
                                                            "spark_sum_gradients", kMergeRows,
                                                            SPARK_FUNCTION(spark_sum_gradients)),
    kernel<MergePartsParams, merge_parts<Half, EmulatedMachine>>("merge-parts", ElementType::kFp16,
                                                                 "spark_merge_parts", kMergeRows,
                                                                 SPARK_FUNCTION(spark_merge_parts)),
    kernel<SumPartsParams, sum_parts<Half, EmulatedMachine>>("sum-parts", ElementType::kFp16,
                                                             "spark_sum_parts", kMergeRows,
                                                             SPARK_FUNCTION(spark_sum_parts)),
};

const KernelInstance& kernel_for(std::string_view name, ElementType element) {
  for (const KernelInstance& kernel : kKernels) {
    if (kernel.kernel() == name && kernel.element == element) return kernel;
  }
  throw NoInstance("no kernel " + std::string(name) + " for tensors of this type");
}

template <class Params>
Step step_of(const KernelInstance& kernel, const std::array<int, 3>& grid, const Params& params) {
  Step step;
  step.instance = &kernel;
  step.grid = grid;
  step.params = ParamBytes(params);
  return step;
}

/// Each head's rows by themselves.
template <class Params>
Step step_of_rows(const KernelInstance& kernel, const RowsOfHeads& rows, const Params& params) {
  return step_of(kernel, {ceil_divide(rows.seqlen, kernel.block_rows), rows.heads, rows.batch},
                 params);
}
std::array<int, 3> merge_grid(const RowsOfHeads& rows) {
  return {MergeBlocks{rows.heads}.count(rows.seqlen), 1, rows.batch};
}

std::uint64_t row_count(const RowsOfHeads& rows) {
  return static_cast<std::uint64_t>(rows.batch) * static_cast<std::uint64_t>(rows.heads) *
         static_cast<std::uint64_t>(rows.seqlen);
}

MemoryPart lse_part(const float* lse, const RowsOfHeads& rows) {
  return {"lse of a pass", lse, row_count(rows) * sizeof(float)};
}

/// The contiguous result of a pass after the first.
template <class Params>
MemoryPart pass_part(const char* name, const Params& params, int index, const RowsOfHeads& rows) {
  const auto chunks = static_cast<std::uint64_t>(params.head_chunks);
  return {name, params.more[index].first, row_count(rows) * chunks * kChunkHalves * sizeof(Bits16)};
}

}  // namespace

Step merge_passes_step(const MergeParams& params, const RowsOfHeads& rows) {
  Step step = step_of(kernel_for("merge-passes", rows.element), merge_grid(rows), params);
  for (int i = 0; i < params.passes; ++i) {
    step.reads.push_back(lse_part(params.lse[i], rows));
    if (i > 0) step.reads.push_back(pass_part("o of a pass", params, i - 1, rows));
  }
  return step;
}
Step gather_lse_step(const GatherParams& params, const RowsOfHeads& rows) {
  // It reads floats only: one instance for all types.
  Step step = step_of_rows(kernel_for("gather-lse", ElementType::kFp16), rows, params);
  step.writes = {lse_part(params.lse, rows)};
  return step;
}
Step sum_gradients_step(const SumParams& params, const RowsOfHeads& rows) {
  Step step = step_of(kernel_for("sum-gradients", rows.element), merge_grid(rows), params);
  for (int i = 0; i < params.parts; ++i) {
    step.reads.push_back(pass_part("gradients of a pass", params, i, rows));
  }
  return step;
}
Step merge_parts_step(const MergePartsParams& params, const RowsOfHeads& rows) {
  return step_of_rows(kernel_for("merge-parts", rows.element), rows, params);
}
Step sum_parts_step(const SumPartsParams& params, const RowsOfHeads& rows) {
  return step_of_rows(kernel_for("sum-parts", rows.element), rows, params);
}

}  // namespace sparkbench
