// How long the host takes to plan a pass, as it does in every call: instance, workspace, parameters
// and grid of each launch. What the driver takes to launch them is not in it.
//   sparkbench_benchmarks --benchmark_filter=plan_pass
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/launch/plan.h"
#include "kernels/machine/emulated/blocks/tensor_copies.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"
#include "kernels/strided/dry_request.h"

namespace sparkbench {
namespace {

constexpr std::size_t kSharedBytes = 227 << 10;  // an H100's; Volta's kernels take less of it

Problem dense() {
  return {.batch = 2,
          .heads = 16,
          .seqlen_q = 4096,
          .seqlen_k = 4096,
          .head_dim = 128,
          .mask = MaskSpec::causal()};
}
Problem varlen() {
  Problem problem = dense();
  problem.batch = 64;
  problem.lengths = std::make_shared<SequenceLengths>(
      std::vector<SequenceLength>(64, {problem.seqlen_q, problem.seqlen_k}));
  return problem;
}
Problem sparse() {
  Problem problem = dense();
  problem.mask = MaskSpec::full();
  problem.sparse = make_sparse_mask("sink:4+window:1024", problem.seqlen_q, problem.seqlen_k);
  return problem;
}

void plan_pass(benchmark::State& state, std::string_view name, Problem (*make)(), Pass pass) {
  const AttentionKernel& kernel = *find_attention_kernel(name);
  const Problem problem = make();
  DryRequest dry(kernel, problem, pass, false, kSharedBytes);
  dry.request.sms = 132;
  dry.request.encode_map = encode_emulated_map;
  for (auto _ : state) {
    DeviceWorkspace workspace;
    benchmark::DoNotOptimize(kernel.plan(dry.request, workspace));
  }
}

#define SPARK_PLAN_BENCHMARK(kernel, label, make)                                       \
  BENCHMARK_CAPTURE(plan_pass, label##_##make##_forward, kernel, make, Pass::kForward); \
  BENCHMARK_CAPTURE(plan_pass, label##_##make##_backward, kernel, make, Pass::kBackward)
SPARK_PLAN_BENCHMARK("volta-fp32acc", volta, dense);
SPARK_PLAN_BENCHMARK("volta-fp32acc", volta, varlen);
SPARK_PLAN_BENCHMARK("volta-fp32acc", volta, sparse);
SPARK_PLAN_BENCHMARK("hopper-fp32acc", hopper, dense);
SPARK_PLAN_BENCHMARK("hopper-fp32acc", hopper, varlen);

}  // namespace
}  // namespace sparkbench
