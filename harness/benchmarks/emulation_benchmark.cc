// Measures how long the host takes to emulate one head of 512 x 512 x 64, forward, and the cost of
// detectors and counters:
//   sparkbench_forward_benchmark --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

void emulate_one_head(benchmark::State& state, std::string_view name, bool detect, bool count) {
  const Problem problem{.seqlen_q = 512, .seqlen_k = 512, .head_dim = 64};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 1);
  std::vector<Half> o(problem.q_elements());
  std::vector<float> lse(problem.lse_elements());
  const AttentionKernel& kernel = *find_attention_kernel(name);
  const EmulationOptions options{
      .profile = &arithmetic_profile("volta"), .detect = detect, .count = count};
  std::uint64_t mma = 0;
  for (auto _ : state) {
    EmulationReport report =
        emulate_forward(kernel, problem,
                        contiguous_tensors(problem, inputs.q.data(), inputs.k.data(),
                                           inputs.v.data(), o.data(), lse.data()),
                        options, {});
    mma += 4u * 512 * 512 * 64 / 2048;
    benchmark::DoNotOptimize(report.host_seconds);
  }
  state.counters["s_per_mma"] = benchmark::Counter(
      static_cast<double>(mma), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(emulate_one_head, fp32acc, "volta-fp32acc", false, false)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(emulate_one_head, fp32acc_detect_count, "volta-fp32acc", true, true)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(emulate_one_head, fp16acc, "volta-fp16acc", false, false)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(emulate_one_head, fp16acc_detect_count, "volta-fp16acc", true, true)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sparkbench
